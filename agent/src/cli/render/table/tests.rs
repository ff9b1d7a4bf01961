//! The table at fixed widths, held to golden text.

use nodewell_model::{
    ConditionStatus, Name, Severity,
    view::{ApiserverState, ApiserverView, ConditionView, DaemonState, DaemonView, HardwareView, ProblemView},
};

use super::{super::look::columns, *};

mod devices;
mod narrow;
mod texts;

use devices::class;

fn table(view: &NodeView, now: Timestamp, look: &Look) -> String {
    of(view, Extent::Folded, now, look)
}

fn of(view: &NodeView, extent: Extent, now: Timestamp, look: &Look) -> String {
    shown(&Account::whole(view.clone()), extent, now, *look)
}

fn shown(account: &Account, extent: Extent, now: Timestamp, look: Look) -> String {
    let Sections { header, body } = sections(account, extent, now, extent.unfolded(look));
    format!("{header}\n{body}")
}

/// What a terminal would show of `text`, without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 - second).unwrap()
}

fn condition(name: &'static str, status: ConditionStatus, reason: &'static str, message: &str) -> ConditionView {
    ConditionView {
        condition: Name::fixed(name),
        status,
        reason: Name::fixed(reason),
        message: message.to_owned(),
        transition: at(7200),
        problems: Vec::new(),
    }
}

fn problem(subject: &str, message: &str) -> ProblemView {
    ProblemView {
        id: "0".to_owned(),
        reason: Name::fixed("IOError"),
        subject: Some(subject.to_owned()),
        severity: Severity::Error,
        since: at(7200),
        last_seen: at(125),
        count: 7,
        message: message.to_owned(),
        source: "kernel-monitor".to_owned(),
        action: Some("replace-disk".to_owned()),
        unconfirmed_since: None,
        test: false,
        muted_until: None,
        false_positive: None,
    }
}

fn sick() -> NodeView {
    let message = "critical medium error, dev sdb, sector 42 op 0x0:(READ)";
    let mut disk = condition("DiskUnhealthy", ConditionStatus::True, "IOError", message);
    let second = ProblemView {
        unconfirmed_since: Some(at(60)),
        test: true,
        muted_until: None,
        action: None,
        ..problem("sdc", "I/O error, dev sdc\nsector 1\u{1b}[2J")
    };
    disk.problems = vec![problem("sdb", message), second];
    NodeView {
        node: "node-1".to_owned(),
        conditions: vec![
            condition("KernelDeadlock", ConditionStatus::False, "KernelHasNoDeadlock", "kernel has no deadlock").into(),
            condition("GpuUnhealthy", ConditionStatus::Unknown, "MonitorStale", "gpu-monitor is silent").into(),
            disk.into(),
        ],
        daemons: vec![
            daemon("kernel-monitor", DaemonState::Running, ""),
            daemon("journal-monitor", DaemonState::Blind, "libsystemd.so.0 is not there; install libsystemd0"),
        ],
        apiserver: ApiserverView {
            state: ApiserverState::Connected,
            last_success: Some(at(3)),
            message: String::new(),
            undelivered: 2,
        },
        hardware: Vec::new(),
        refused: Vec::new(),
        mutes: Vec::new(),
        configuration: None,
    }
}

fn daemon(name: &str, state: DaemonState, message: &str) -> DaemonView {
    let reason = if message.is_empty() { String::new() } else { "LibraryMissing".to_owned() };
    DaemonView {
        name: name.to_owned(),
        state,
        reason,
        message: message.to_owned(),
        records: 0,
        lost: 0,
        ttl_secs: None,
        silent_since: None,
        full: false,
    }
}

#[test]
fn a_pipe_gets_whole_lines_problems_first_and_what_is_well_in_one() {
    let expected = "\
node-1: 2 problems, 1 unknown, API server: connected, last reached 3s ago, 2 events wait

CONDITION      STATUS   SINCE  REASON        MESSAGE
DiskUnhealthy  True     2h     IOError       critical medium error, dev sdb, sector 42 op 0x0:(READ)
  └ IOError  sdb  error  ×7  seen 2m ago  → replace-disk
  └ IOError  sdc  error  ×7  seen 2m ago  unconfirmed for 1m  [test]  I/O error, dev sdc sector 1\u{fffd}[2J
GpuUnhealthy   Unknown  2h     MonitorStale  gpu-monitor is silent

Monitors that do not see everything:
  journal-monitor  blind     LibraryMissing: libsystemd.so.0 is not there; install libsystemd0

Healthy: 1 condition (--all lists them)
";
    assert_eq!(table(&sick(), at(0), &Look::PLAIN), expected);
}

#[test]
fn all_lists_what_is_well_after_the_rest() {
    let shown = of(&sick(), Extent::All, at(0), &Look::PLAIN);
    let rows =
        ["DiskUnhealthy ", "GpuUnhealthy ", "KernelDeadlock  False    2h     KernelHasNoDeadlock  kernel has no"];
    let places: Vec<usize> = rows.iter().map(|row| shown.find(row).unwrap()).collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(!shown.contains("Healthy:"), "{shown}");
}

#[test]
fn wide_shows_every_field_on_lines_of_their_own() {
    let look = Look { width: Some(60), ..Look::PLAIN };
    let shown = of(&sick(), Extent::Wide, at(0), &look);
    let line = "  └ IOError  sdb  error  ×7  seen 2m ago  → replace-disk  by kernel-monitor, id 0  critical medium error, \
                dev sdb, sector 42 op 0x0:(READ)\n";
    assert!(shown.contains(line), "{shown}");
    assert!(shown.contains("\nKernelDeadlock "), "{shown}");
}

#[test]
fn without_what_is_well_a_healthy_node_is_still_healthy() {
    let mut view = sick();
    view.conditions.truncate(1);
    view.refused = vec![refused("uid 1000", "", "more than 20 reports/s")];
    let of = |view: &NodeView| shown(&Account::without_healthy(view.clone()), Extent::Folded, at(0), Look::PLAIN);
    let healthy = of(&view);
    assert!(healthy.starts_with("node-1: no problem, "), "{healthy}");
    assert!(healthy.contains("Refused on the socket:") && !healthy.contains("Healthy:"), "{healthy}");
    view.conditions.clear();
    assert!(of(&view).starts_with("node-1: no known problem, "));
}

#[test]
fn while_a_monitor_has_not_looked_there_is_no_known_problem() {
    let mut view = sick();
    view.conditions.truncate(1);
    view.daemons.push(daemon("disk@root", DaemonState::Starting, ""));
    let shown = table(&view, at(0), &Look::PLAIN);
    assert!(shown.starts_with("node-1: no known problem, "), "{shown}");
}

#[test]
fn the_word_for_no_action_is_no_advice() {
    let with = |action: &str| {
        let mut sda = problem("sda", "I/O error");
        sda.action = Some(action.to_owned());
        let mut disk = condition("DiskUnhealthy", ConditionStatus::True, "IOError", "I/O error");
        disk.problems = vec![sda];
        table(&NodeView { conditions: vec![disk.into()], ..sick() }, at(0), &Look::PLAIN)
    };
    assert!(with("replace-disk").contains("→ replace-disk"), "{}", with("replace-disk"));
    assert!(!with("none").contains('→'), "{}", with("none"));
}

#[test]
fn colours_show_the_status() {
    let look = Look { colours: true, ..Look::PLAIN };
    let shown = of(&sick(), Extent::All, at(0), &look);
    assert!(shown.contains("\x1b[1;31mTrue   \x1b[0m"));
    assert!(shown.contains("\x1b[33mUnknown\x1b[0m"));
    assert!(shown.contains("\x1b[32mFalse  \x1b[0m"));
}

#[test]
fn a_healthy_standalone_node_is_two_lines() {
    let mut view = sick();
    view.conditions.truncate(1);
    view.daemons.truncate(1);
    view.apiserver.state = ApiserverState::Disabled;
    view.hardware = vec![class("disks", 1, &[]), class("GPUs", 8, &[])];
    let expected = "\
node-1: no problem, standalone (no API server)

Healthy: 1 condition, 1 disk, 8 GPUs (--all lists them)
";
    assert_eq!(table(&view, at(0), &Look::PLAIN), expected);
}

#[test]
fn a_node_of_which_nothing_is_known_is_not_called_well() {
    let mut view = sick();
    view.conditions.retain(|condition| condition.status == ConditionStatus::Unknown);
    assert!(table(&view, at(0), &Look::PLAIN).starts_with("node-1: no known problem, 1 unknown, "));
    view.conditions.clear();
    assert!(table(&view, at(0), &Look::PLAIN).starts_with("node-1: no known problem, API"));
}

#[test]
fn daemons_of_others_are_shown_with_how_long_their_word_holds() {
    let mut view = sick();
    view.daemons = vec![
        DaemonView { ttl_secs: Some(180), ..daemon("raid-monitor@root", DaemonState::Running, "") },
        DaemonView {
            ttl_secs: Some(90),
            silent_since: Some(at(300)),
            ..daemon("smart@uid:7", DaemonState::Stale, "not heard of for 90s")
        },
    ];
    let shown = of(&view, Extent::All, at(0), &Look::PLAIN);
    let expected = "
Daemons that report over the socket:
  raid-monitor@root  running   ttl 3m
  smart@uid:7        silent    unconfirmed for 5m, ttl 90s
";
    assert!(shown.ends_with(expected), "{shown}");
    let folded = "
Daemons that report over the socket:
  smart@uid:7  silent    unconfirmed for 5m, ttl 90s
  running: raid-monitor@root
";
    let shown = table(&view, at(0), &Look::PLAIN);
    assert!(shown.ends_with(folded), "{shown}");
    assert!(!shown.contains("Monitors that do not see everything"));
}

#[test]
fn a_daemon_that_promises_no_further_report_is_not_said_to_run() {
    let mut view = sick();
    let running = |name: &str, ttl_secs| DaemonView { ttl_secs, ..daemon(name, DaemonState::Running, "") };
    let of_others = [running("cron@root", None), running("raid-monitor@root", Some(180))];
    view.daemons = [vec![running("kernel-monitor", None)], of_others.to_vec()].concat();
    let folded = "
Daemons that report over the socket:
  running: raid-monitor@root
  reported: cron@root
";
    let shown = table(&view, at(0), &Look::PLAIN);
    assert!(shown.ends_with(folded), "{shown}");
    let all = "
Daemons that report over the socket:
  cron@root          reported  no ttl, holds until its next report
  raid-monitor@root  running   ttl 3m
";
    let shown = of(&view, Extent::All, at(0), &Look::PLAIN);
    assert!(shown.ends_with(all), "{shown}");
}

fn refused(peer: &str, source: &str, why: &str) -> nodewell_model::view::RefusedView {
    let (peer, source, why) = (peer.to_owned(), source.to_owned(), why.to_owned());
    nodewell_model::view::RefusedView { peer, source, count: 12, last: at(125), why }
}

#[test]
fn facts_about_the_host_are_no_hardware_and_not_red() {
    let mut view = sick();
    let fact = |name, total, states| HardwareView { informational: true, ..class(name, total, states) };
    view.hardware = vec![
        fact("cgroup controllers", 9, &[("of version 1", 9)]),
        fact("cgroup controllers", 12, &[("of version 1", 3)]),
        fact("reboots", 1, &[("due", 1)]),
    ];
    let colours = table(&view, at(0), &Look { colours: true, ..Look::PLAIN });
    let line = "\nHost: 9 cgroup controllers of version 1, 3 of 12 cgroup controllers of version 1, 1 reboot due\n";
    assert!(colours.contains(line), "{colours}");
    assert!(!colours.contains("Hardware:"), "{colours}");
}

#[test]
fn who_was_rejected_is_shown_with_why() {
    let mut view = sick();
    view.refused = vec![
        refused("raid.service (uid 7)", "raid", "may not report condition RaidProblem"),
        refused("uid 1000", "", "more than 20 reports/s"),
    ];
    let expected = "
Refused on the socket:
  raid.service (uid 7)  as raid  ×12  2m ago  may not report condition RaidProblem
  uid 1000              ×12  2m ago  more than 20 reports/s
";
    let shown = table(&view, at(0), &Look::PLAIN);
    assert!(shown.ends_with(expected), "{shown}");
}
