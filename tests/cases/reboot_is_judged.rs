//! A boot after a boot: what went wrong with the last one is reported once, and what went right is not reported at all.

use nodewell_tests::{
    agent::{Agent, Plan},
    boots::{Boots, note},
    cluster::Cluster,
    suite::{Need, Suite},
    wait::{stable, until},
};

use crate::{api_conditions::plan_on, api_events::wait_events};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("reboot_is_judged")
        .case_with(&[Need::Root], "a_killed_machine_is_reported_once", a_killed_machine_is_reported_once)
        .case_with(
            &[Need::Root],
            "a_stop_that_was_asked_for_is_not_reported",
            a_stop_that_was_asked_for_is_not_reported,
        )
        .case_with(&[Need::Root], "a_panic_is_reported_with_its_message", a_panic_is_reported_with_its_message)
        .on_double("sent_again_it_is_the_same_event", sent_again_it_is_the_same_event);
}

const PANIC: &str = "\
<1>[   41.000000] BUG: kernel NULL pointer dereference, address: 0000000000000008
<4>[   41.000001] CPU: 1 PID: 812 Comm: lab Not tainted 6.1.0-56-amd64 #1 Debian
<4>[   41.000002] RIP: 0010:bad_write+0x10/0x20 [baddriver]
<0>[   41.500000] Kernel panic - not syncing: Fatal exception
";

fn plan(boots: &Boots) -> Plan {
    Plan::default().wrapped_in(boots.enter())
}

/// Waits until the agent has saved a note of this boot; gives when it was alive.
fn wait_note(agent: &Agent, boot: u32) -> String {
    until("the agent notes that it runs in this boot", || {
        let note = note(agent.plan().folder())?;
        let id = note["boot_id"].as_str()?;
        let here = id.ends_with(&format!("{boot:012x}")) && note["stopped"] == false;
        here.then(|| note["alive"].as_str().unwrap().to_owned())
    })
}

/// In this boot nothing more is reported: the note is there only after the judgement.
fn nothing_more(agent: &mut Agent, boot: u32) {
    let before = wait_note(agent, boot);
    agent.restart();
    until("the agent notes that it runs again", || (wait_note(agent, boot) != before).then_some(()));
    let reported =
        stable("events of a boot", || agent.events("UnexpectedReboot").len() + agent.events("KernelPanic").len());
    let judged = agent.log().matches("judged the boot before").count();
    assert!(reported <= 1 && judged == 2, "{reported} events, judged {judged} times");
}

fn a_killed_machine_is_reported_once() {
    let boots = Boots::default();
    let mut agent = plan(&boots).start();
    let alive = wait_note(&agent, 1);
    boots.next(2);
    agent.restart();
    let event = agent.wait_event("UnexpectedReboot");
    assert_eq!((event.severity.as_str(), event.count, event.source.as_str()), ("error", 1, "boot-monitor"));
    let seconds = &alive[..19];
    assert!(event.message.contains(&format!("last seen alive at {seconds}Z (the agent's own note")), "{event:?}");
    nothing_more(&mut agent, 2);
}

fn a_stop_that_was_asked_for_is_not_reported() {
    let boots = Boots::default();
    let mut agent = plan(&boots).start();
    wait_note(&agent, 1);
    agent.stop_and_start(|| ());
    until("a restart takes the mark of the stop back", || {
        (note(agent.plan().folder())?["stopped"] == false).then_some(())
    });
    agent.stop_and_start(|| boots.next(2));
    wait_note(&agent, 2);
    assert!(agent.events("UnexpectedReboot").is_empty());
    assert!(agent.log().contains("judged the boot before"));
}

fn a_panic_is_reported_with_its_message() {
    let boots = Boots::default();
    let mut agent = plan(&boots).start();
    wait_note(&agent, 1);
    boots.panicked(PANIC);
    boots.next(2);
    agent.restart();
    let panic = agent.wait_event("KernelPanic");
    assert_eq!(panic.severity.as_str(), "critical");
    let expected = "the previous boot ended in a panic: Kernel panic - not syncing: Fatal exception (CPU 1, task lab, \
                    module baddriver, kernel 6.1.0-56-amd64, 41 s after boot); before it: BUG: kernel NULL pointer \
                    dereference, address: 0000000000000008; get the dump with `nodewell collect-pstore --to DIR`";
    assert_eq!(panic.message, expected);
    let reboot = agent.wait_event("UnexpectedReboot");
    assert!(reboot.message.contains("the kernel panicked: Kernel panic - not syncing: Fatal exception"), "{reboot:?}");
    wait_note(&agent, 2);
    // The record stays where it is, and is known in every boot after.
    agent.stop_and_start(|| boots.next(3));
    wait_note(&agent, 3);
    assert!(agent.events("KernelPanic").is_empty() && agent.events("UnexpectedReboot").is_empty());
}

/// An agent that dies before it has saved what it reported reports it again: with the same origin.
fn sent_again_it_is_the_same_event(cluster: &Cluster) {
    let node = "rebooted";
    let boots = Boots::default();
    let mut agent = plan_on(cluster, node).wrapped_in(boots.enter()).start();
    wait_note(&agent, 1);
    boots.next(2);
    let file = agent.plan().folder().join("state/boot-id");
    agent.kill();
    let before = std::fs::read(&file).unwrap();
    agent.restart();
    wait_events(cluster, node, "UnexpectedReboot");
    wait_note(&agent, 2);
    agent.kill();
    std::fs::write(&file, before).unwrap();
    agent.restart();
    agent.wait_event("UnexpectedReboot");
    let delivered = || agent.view().apiserver.undelivered == 0;
    until("the second report is delivered", || delivered().then_some(()));
    let count = || -> u64 {
        let events = cluster.events(node, "UnexpectedReboot");
        assert_eq!(events.len(), 1, "{events:?}");
        events[0]["count"].as_u64().unwrap()
    };
    assert_eq!(stable("the Event rests", count), 1);
}
