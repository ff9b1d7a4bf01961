//! More than the ring holds while the agent cannot read: what was lost is counted, and nothing else is.

use std::{thread, time::Duration};

use nodewell_tests::{
    agent::Plan,
    kmsg::RealKmsg,
    suite::{Need, Suite},
    wait::until,
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
    // Others write to the same log, and the kernel writes lines of its own: how far what is known is behind the newest
    // number counts, once it stays the same.
    let look = |text: &str| {
        let newest = kmsg.write_numbered(text);
        thread::sleep(Duration::from_millis(100));
        (newest, newest.cast_signed() - known().cast_signed())
    };
    let (first, behind) = until("the log is read to its end", || {
        let (_, before) = look("nodewell tests: before the flood");
        let (newest, behind) = look("nodewell tests: still before the flood");
        (before == behind).then_some((newest, behind))
    });
    agent.pause();
    (0..FLOOD).for_each(|n| kmsg.write(&format!("nodewell tests: flood {n}")));
    agent.resume();
    let last = until("all are seen or counted", || {
        let (newest, now_behind) = look("nodewell tests: after the flood");
        (now_behind == behind).then_some(newest)
    });
    let lost = monitor().lost;
    assert!(lost > 0 && last - first > FLOOD, "{lost} lost of {}", last - first);
    // On a busy machine the reader falls behind more than once.
    until("every gap is reported with its count", || {
        let reported: u64 = agent.events("RecordsLost").iter().map(|gap| gap.count).sum();
        (reported == lost).then_some(())
    });
    let metric = format!("nodewell_records_lost_total{{monitor=\"kernel-monitor\"}} {lost}\n");
    assert!(agent.metrics().contains(&metric), "no {metric}");
}
