//! More than the ring holds while the agent cannot read: what was lost is counted, and nothing else is.

use std::{thread, time::Duration};

use nodewell_tests::{
    agent::Plan,
    kmsg::RealKmsg,
    suite::{Need, Suite},
    wait::{settled, until},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("kmsg_overrun").case_with(
        &[Need::KernelLog],
        "lines_seen_and_lines_lost_are_lines_written",
        lines_seen_and_lines_lost_are_lines_written,
    );
}

/// Some ten times what the ring of a stock kernel holds.
const FLOOD: u64 = 30_000;

fn lines_seen_and_lines_lost_are_lines_written() {
    let kmsg = RealKmsg::take();
    // What we can write is of facility 1: it is to be seen for once.
    let agent = Plan::default().kernel_log("/dev/kmsg").config("[kmsg]\nfacilities = [0, 1]\n").start();
    agent.wait_condition("KernelDeadlock", "False");
    let monitor = || agent.daemon("kernel-monitor").unwrap();
    let known = || monitor().records + monitor().lost;
    let first = kmsg.say_numbered("nodewell tests: before the flood");
    let before = settled("the log is read to its end", known);
    agent.pause();
    (0..FLOOD).for_each(|n| kmsg.say(&format!("nodewell tests: flood {n}")));
    agent.resume();
    // The kernel has lines of its own to say meanwhile, such as another case's mount: the newest number of all counts.
    let last = until("all are seen or counted", || {
        let last = kmsg.say_numbered("nodewell tests: after the flood");
        thread::sleep(Duration::from_millis(100));
        (known() - before == last - first).then_some(last)
    });
    let lost = monitor().lost;
    assert!(lost > 0 && last - first > FLOOD, "{lost} lost of {}", last - first);
    let gap = agent.wait_event("RecordsLost");
    assert!(gap.message.contains(&lost.to_string()), "{gap:?}");
    let metric = format!("nodewell_records_lost_total{{monitor=\"kernel-monitor\"}} {lost}\n");
    assert!(agent.metrics().contains(&metric), "no {metric}");
}
