//! The table at fixed widths, held to golden text.

use nodewell_model::{Name, Severity, view::HardwareView};

use super::*;

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
    }
}

fn sick() -> NodeView {
    let message = "critical medium error, dev sdb, sector 42 op 0x0:(READ)";
    let mut disk = condition("DiskUnhealthy", ConditionStatus::True, "IOError", message);
    let second = ProblemView {
        unconfirmed_since: Some(at(60)),
        test: true,
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
    }
}

#[test]
fn a_pipe_gets_whole_lines() {
    let expected = "\
node-1: 2 problems, 1 unknown, API server: connected, last reached 3s ago, 2 events wait

CONDITION       STATUS   SINCE  REASON               MESSAGE
DiskUnhealthy   True     2h     IOError              critical medium error, dev sdb, sector 42 op 0x0:(READ)
  └ IOError  sdb  error  ×7  seen 2m ago  → replace-disk
  └ IOError  sdc  error  ×7  seen 2m ago  unconfirmed for 1m  [test]  I/O error, dev sdc sector 1\u{fffd}[2J
GpuUnhealthy    Unknown  2h     MonitorStale         gpu-monitor is silent
KernelDeadlock  False    2h     KernelHasNoDeadlock  kernel has no deadlock

Monitors that do not see everything:
  journal-monitor  blind     LibraryMissing: libsystemd.so.0 is not there; install libsystemd0
";
    assert_eq!(table(&sick(), at(0), &Look::PLAIN), expected);
}

#[test]
fn a_narrow_terminal_cuts_messages_only() {
    let look = Look { width: Some(80), unicode: false, ..Look::PLAIN };
    let expected = "\
CONDITION       STATUS   SINCE  REASON               MESSAGE
DiskUnhealthy   True     2h     IOError              critical medium error, d...
  - IOError  sdb  error  x7  seen 2m ago  -> replace-disk
  - IOError  sdc  error  x7  seen 2m ago  unconfirmed for 1m  [test]  I/O err...
";
    let shown = table(&sick(), at(0), &look);
    let rows: Vec<&str> = shown.lines().skip(2).take(4).collect();
    assert_eq!(rows.join("\n") + "\n", expected);
    assert!(rows.iter().all(|row| row.len() <= 80));
}

#[test]
fn the_longest_names_do_not_wrap_at_80_columns() {
    let (reason, message) = ("NoFrequentUnregisterNetDevice", "node is functioning properly");
    let mut view = sick();
    view.conditions.push(condition("FrequentUnregisterNetDevice", ConditionStatus::False, reason, message).into());
    let rows = |width| {
        let look = Look { width: Some(width), ..Look::PLAIN };
        let shown = table(&view, at(0), &look);
        assert!(shown.lines().skip(2).take(7).all(|row| row.chars().count() <= width), "{shown}");
        shown.lines().nth(8).unwrap().to_owned()
    };
    assert_eq!(rows(80), "FrequentUnregisterNetDevice  False    2h     NoFrequentUnregi…  node is functio…");
    assert_eq!(rows(64), "FrequentUnregisterNetDevice  False    2h     NoFrequentUnregist…");
    assert_eq!(
        rows(120),
        "FrequentUnregisterNetDevice  False    2h     NoFrequentUnregisterNetDevice  node is functioning properly"
    );
}

#[test]
fn colours_show_the_status() {
    let look = Look { colours: true, ..Look::PLAIN };
    let shown = table(&sick(), at(0), &look);
    assert!(shown.contains("\x1b[1;31mTrue   \x1b[0m"));
    assert!(shown.contains("\x1b[33mUnknown\x1b[0m"));
    assert!(shown.contains("\x1b[32mFalse  \x1b[0m"));
}

#[test]
fn a_healthy_standalone_node_is_shown_as_such() {
    let mut view = sick();
    view.conditions.truncate(1);
    view.daemons.truncate(1);
    view.apiserver.state = ApiserverState::Disabled;
    let expected = "\
node-1: no problem, standalone (no API server), 2 events wait

CONDITION       STATUS   SINCE  REASON               MESSAGE
KernelDeadlock  False    2h     KernelHasNoDeadlock  kernel has no deadlock
";
    assert_eq!(table(&view, at(0), &Look::PLAIN), expected.replace(", 2 events wait", ""));
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
    let shown = table(&view, at(0), &Look::PLAIN);
    let expected = "
Daemons that report over the socket:
  raid-monitor@root  running   ttl 3m
  smart@uid:7        silent    unconfirmed for 5m, ttl 90s
";
    assert!(shown.ends_with(expected), "{shown}");
    assert!(!shown.contains("Monitors that do not see everything"));
}

fn class(class: &str, total: u32, states: &[(&str, u32)]) -> HardwareView {
    let bad: u32 = states.iter().map(|(_, count)| count).sum();
    let states = states.iter().map(|(state, count)| ((*state).to_owned(), *count)).collect();
    HardwareView { class: class.to_owned(), total, healthy: total - bad, states, unconfirmed_since: None, informational: false }
}

#[test]
fn devices_have_a_line_for_each_class() {
    let mut view = sick();
    view.hardware = vec![
        class("disks", 4, &[]),
        class("GPUs", 8, &[("lost", 1)]),
        class("memory modules", 16, &[("failing", 2), ("not answering", 14)]),
        HardwareView { unconfirmed_since: Some(at(300)), ..class("ports", 0, &[]) },
    ];
    let expected = "
Hardware:
   4 disks           ok
   8 GPUs            1 lost, 7 ok
  16 memory modules  2 failing, 14 not answering
   0 ports           none  unconfirmed for 5m

Monitors that do not see everything:
";
    let shown = table(&view, at(0), &Look::PLAIN);
    assert!(shown.contains(expected), "{shown}");
    let narrow = table(&view, at(0), &Look { width: Some(40), unicode: false, ..Look::PLAIN });
    assert!(narrow.contains("\n  16 memory modules  2 failing, 14 no...\n"), "{narrow}");
    let colours = table(&view, at(0), &Look { colours: true, ..Look::PLAIN });
    assert!(colours.contains("\x1b[32mok\x1b[0m") && colours.contains("\x1b[1;31m1 lost, 7 ok\x1b[0m"));
}

#[test]
fn who_was_rejected_is_shown_with_why() {
    let refused = |peer: &str, source: &str, why: &str| nodewell_model::view::RefusedView {
        peer: peer.to_owned(),
        source: source.to_owned(),
        count: 12,
        last: at(125),
        why: why.to_owned(),
    };
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
