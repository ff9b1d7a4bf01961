//! The table at fixed widths, held to golden text.

use nodewell_model::{
    ConditionStatus, Name, Severity,
    view::{ApiserverState, ApiserverView, ConditionView, DaemonState, DaemonView, HardwareView, ProblemView},
};

use super::{super::look::columns, *};

mod devices;

use devices::class;

fn table(view: &NodeView, now: Timestamp, look: &Look) -> String {
    of(view, Extent::Folded, now, look)
}

fn of(view: &NodeView, extent: Extent, now: Timestamp, look: &Look) -> String {
    let Sections { header, body } = sections(view, extent, now, *look);
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
fn a_narrow_terminal_wraps_texts_and_loses_none() {
    let look = Look { width: Some(60), unicode: false, ..Look::PLAIN };
    let expected = "\
node-1: 2 problems, 1 unknown, API server: connected,
  last reached 3s ago, 2 events wait

CONDITION      STATUS   SINCE  REASON
DiskUnhealthy  True     2h     IOError
  critical medium error, dev sdb, sector 42 op 0x0:(READ)
  - IOError  sdb  error  x7  seen 2m ago  -> replace-disk
  - IOError  sdc  error  x7  seen 2m ago  unconfirmed for 1m
    [test]  I/O error, dev sdc sector 1\u{fffd}[2J
GpuUnhealthy   Unknown  2h     MonitorStale
  gpu-monitor is silent

Monitors that do not see everything:
  journal-monitor  blind     LibraryMissing: libsystemd.so.0
    is not there; install libsystemd0

Healthy: 1 condition (--all lists them)
";
    assert_eq!(table(&sick(), at(0), &look), expected);
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    let mut view = sick();
    let (reason, message) = ("NoFrequentUnregisterNetDevice", "node is functioning properly");
    view.conditions.push(condition("FrequentUnregisterNetDevice", ConditionStatus::False, reason, message).into());
    view.conditions
        .push(condition("FrequentUnregisterNetDevice", ConditionStatus::Unknown, reason, &"長い ".repeat(90)).into());
    let mut wide = condition("DiskUnhealthy", ConditionStatus::True, "IOError", "x");
    wide.problems = vec![problem("中文字中文字中文字中文字中文字中文字", &"\u{202e}\u{1b}[31m😀".repeat(40))];
    view.conditions.push(wide.into());
    view.apiserver.message = "https://10.0.0.1:6443 does not answer: connection refused".repeat(3);
    view.hardware =
        vec![class("記憶體模組", 16, &[("not answering at all", 2), ("failing", 3), ("degraded and slow", 4)])];
    view.daemons.push(daemon("raid@uid:7", DaemonState::Blind, &"advice ".repeat(30)));
    view.refused = vec![refused("raid.service (uid 7)", "raid", &"may not report ".repeat(9))];
    for width in [40, 60, 80, 120] {
        for extent in [Extent::Folded, Extent::All] {
            for colours in [false, true] {
                let shown = of(&view, extent, at(0), &Look { width: Some(width), colours, ..Look::PLAIN });
                for line in plain(&shown).lines() {
                    assert!(columns(line) <= width, "{} > {width}: {line}", columns(line));
                    assert!(!line.contains(nodewell_printable::is_hidden), "{line:?}");
                }
            }
        }
    }
}

#[test]
fn a_text_of_many_conditions_stands_once() {
    let mut view = sick();
    let text = "kernel-monitor: /dev/kmsg cannot be read: Permission denied; run it as root";
    for name in ["KernelDeadlock", "KernelUnhealthy", "ReadonlyFilesystem"] {
        view.conditions.push(condition(name, ConditionStatus::Unknown, "KmsgUnreadable", text).into());
        view.conditions
            .push(condition("GpuUnhealthy", ConditionStatus::Unknown, "MonitorStale", "gpu-monitor is silent").into());
    }
    view.daemons.push(daemon(
        "kernel-monitor",
        DaemonState::Blind,
        "/dev/kmsg cannot be read: Permission denied; run it as root",
    ));
    let shown = table(&view, at(0), &Look::PLAIN);
    assert_eq!(shown.matches("Permission denied").count(), 1, "{shown}");
    assert_eq!(shown.matches("gpu-monitor is silent").count(), 1, "{shown}");
    let run = "\nKernelDeadlock      Unknown  2h     KmsgUnreadable\nKernelUnhealthy     Unknown  2h     KmsgUnreadable\n\
               ReadonlyFilesystem  Unknown  2h     KmsgUnreadable\n  kernel-monitor: /dev/kmsg";
    assert!(shown.contains(run), "{shown}");
    assert_eq!(shown.matches("MonitorStale").count(), 4, "every condition has its row: {shown}");
    let wide = of(&view, Extent::Wide, at(0), &Look::PLAIN);
    assert_eq!(wide.matches("Permission denied").count(), 4, "{wide}");
}

#[test]
fn a_text_of_many_problems_stands_once() {
    let mut view = sick();
    let mut disk = condition("DiskUnhealthy", ConditionStatus::True, "IOError", "one text");
    disk.problems = ["one text", "other", "other", "one text"].map(|text| problem("sdb", text)).to_vec();
    view.conditions = vec![disk.into()];
    let shown = table(&view, at(0), &Look::PLAIN);
    assert_eq!((shown.matches("one text").count(), shown.matches("other").count()), (1, 1), "{shown}");
    assert_eq!(shown.matches("└ IOError").count(), 4, "{shown}");
}

#[test]
fn the_longest_names_leave_room_for_a_reason() {
    let (reason, message) = ("NoFrequentUnregisterNetDevice", "node is functioning properly");
    let mut view = sick();
    view.conditions.push(condition("FrequentUnregisterNetDevice", ConditionStatus::False, reason, message).into());
    let row = |width| {
        let shown = of(&view, Extent::All, at(0), &Look { width: Some(width), ..Look::PLAIN });
        shown.lines().find(|line| line.starts_with("FrequentU")).unwrap().to_owned()
    };
    assert_eq!(row(80), "FrequentUnregisterNetDevice  False    2h     NoFrequentUnregisterNetDevice");
    assert_eq!(row(60), "FrequentUnregisterNetDevice  False    2h     NoFrequentUnre…");
    assert_eq!(row(40), "FrequentUnr…  False    2h     NoFrequen…");
    assert_eq!(
        row(120),
        "FrequentUnregisterNetDevice  False    2h     NoFrequentUnregisterNetDevice  node is functioning properly"
    );
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
