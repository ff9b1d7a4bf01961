//! An agent that dies between any two steps whose order matters, and starts again, has each line counted exactly once.
//! The steps are those that the agent's own source names.

use std::{os::unix::process::ExitStatusExt, thread};

use nix::sys::signal::Signal;
use nodewell_tests::{
    agent::Plan,
    cluster::{Cluster, Identity},
    fire::RULES,
    process::Process,
    suite::Suite,
    wait::until,
};

const CRASH_RS: &str = include_str!("../../agent/src/runtime/crash.rs");
/// At which passing of a point it dies: the first there must be, a later one there may be.
const PASSINGS: [usize; 2] = [1, 3];
/// Few enough for a machine with two cores.
const AT_ONCE: usize = 4;
/// Subjects of the lines that are written before the death, and of those after it.
const SUBJECTS: usize = 4;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("killed_between_any_two_steps")
        .case("the_steps_are_found", the_steps_are_found)
        .on_double("each_line_is_counted_once", each_line_is_counted_once)
        .long("a_real_server_counts_each_line_once", each_line_is_counted_once);
}

/// At which point an agent dies, and at which passing of it.
#[derive(Clone, Copy)]
struct Death {
    point: &'static str,
    nth: usize,
}

/// Every name in the list of the agent's source.
fn points() -> Vec<&'static str> {
    let list = CRASH_RS.split_once("pub const POINTS").and_then(|(_, rest)| rest.split_once("];")).unwrap().0;
    list.split('"').skip(1).step_by(2).collect()
}

fn the_steps_are_found() {
    let points = points();
    for of in ["store.", "exporter."] {
        assert!(points.iter().filter(|point| point.starts_with(of)).count() >= 3, "{points:?}");
    }
    assert!(points.iter().all(|point| point.contains('.') && !point.contains(char::is_whitespace)), "{points:?}");
}

fn each_line_is_counted_once(cluster: &Cluster) {
    let points = points();
    let deaths: Vec<_> =
        PASSINGS.iter().flat_map(|nth| points.iter().map(move |point| Death { point, nth: *nth })).collect();
    thread::scope(|scope| {
        let some = |first: usize| deaths.iter().skip(first).step_by(AT_ONCE);
        let work = |first| scope.spawn(move || some(first).for_each(|death| dies_at(cluster, *death)));
        let workers: Vec<_> = (0..AT_ONCE).map(work).collect();
        let failed = workers.into_iter().filter_map(|worker| worker.join().err()).count();
        assert_eq!(failed, 0, "what failed is printed above");
    });
}

fn dies_at(cluster: &Cluster, death: Death) {
    let Death { point, nth } = death;
    let node = format!("dies-at-{}-{nth}", point.replace('.', "-"));
    let plan = plan(cluster, &node);
    if point == "store.before-aside" {
        plan.file("state/state.db", "this is no database");
    }
    write(&plan, "before");
    let doomed = plan.wrapped_in(vec!["env".into(), format!("NODEWELL_CRASH_AT={point}:{nth}").into()]);
    let mut process = doomed.launch();
    write(&doomed, "before");
    let signal = end_of(&mut process, death, || is_reported(cluster, &node, "before"));
    assert!(signal == Some(Signal::SIGKILL) || nth > 1, "{node}: no run came by there");
    process.kill();

    let plan = doomed.wrapped_in(Vec::new());
    write(&plan, "after");
    write(&plan, "after");
    let mut agent = plan.start();
    until(&format!("{node}: everything is reported"), || {
        (is_reported(cluster, &node, "before") && is_reported(cluster, &node, "after")).then_some(())
    });
    // A report that would be repeated is repeated before a new one.
    agent.restart();
    agent.kmsg().write("fire: seen on last");
    until(&format!("{node}: the last line is seen"), || Some(counts(cluster, &node, "last")).filter(|one| *one == [1]));
    for subject in (0..SUBJECTS).flat_map(|n| [format!("before{n}"), format!("after{n}")]) {
        assert_eq!(counts(cluster, &node, &subject), [2], "{node}: {subject}");
    }
}

fn plan(cluster: &Cluster, node: &str) -> Plan {
    cluster.create_node(node);
    let plan = Plan::new(node).rules(RULES);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node(node.to_owned()), plan.folder());
    plan.kubeconfig(kubeconfig)
}

/// One line about each subject.
fn write(plan: &Plan, when: &str) {
    (0..SUBJECTS).for_each(|n| plan.kmsg().write(&format!("fire: seen on {when}{n}")));
}

/// What the agent died of; `None` if it has reported everything and lives on.
fn end_of(process: &mut Process, Death { point, nth }: Death, has_reported: impl Fn() -> bool) -> Option<Signal> {
    let mut stopped = false;
    until(&format!("it dies at {point}:{nth}"), || {
        if let Some(status) = process.ended() {
            return Some(status.signal().and_then(|signal| Signal::try_from(signal).ok()));
        }
        let done = has_reported();
        if done && point == "store.before-close" && !std::mem::replace(&mut stopped, true) {
            process.signal(Signal::SIGTERM);
        }
        (done && nth > 1).then_some(None)
    })
}

fn is_reported(cluster: &Cluster, node: &str, when: &str) -> bool {
    let total = |n: usize| counts(cluster, node, &format!("{when}{n}")).iter().sum::<u64>();
    (0..SUBJECTS).all(|n| total(n) >= 2)
}

/// The counts of all Events about lines on this subject.
fn counts(cluster: &Cluster, node: &str, subject: &str) -> Vec<u64> {
    let events = cluster.events(node, "FireSeen");
    let about = events.iter().filter(|event| event["message"].as_str().is_some_and(|text| text.ends_with(subject)));
    about.map(|event| event["count"].as_u64().unwrap()).collect()
}
