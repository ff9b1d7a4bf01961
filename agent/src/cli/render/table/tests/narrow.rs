//! The table on terminals that are too narrow for it.

use super::*;

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
    view.node = "worker-7.rack-12.eu-central.example.com".to_owned();
    view.daemons.push(daemon("custom-plugin-monitor@nodewell-check.service", DaemonState::Starting, ""));
    let account = Account::whole(view);
    for width in [20, 24, 29, 30, 40, 60, 80, 120] {
        for extent in [Extent::Folded, Extent::All, Extent::Wide] {
            for colours in [false, true] {
                let look = Look { width: Some(width), colours, ..Look::PLAIN };
                let Sections { header, body } = sections(&account, extent, at(0), look);
                for line in plain(&format!("{header}\n{body}")).lines() {
                    assert!(columns(line) <= width, "{} > {width}: {line}", columns(line));
                    assert!(!line.contains(nodewell_printable::is_hidden), "{line:?}");
                }
            }
        }
    }
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
fn a_very_narrow_terminal_shows_reasons_below_their_rows() {
    let shown = table(&sick(), at(0), &Look { width: Some(24), unicode: false, ..Look::PLAIN });
    let expected = "
CONDITION      STATUS
DiskUnhealthy  True
  IOError
  critical medium error,
  dev sdb, sector 42 op
  0x0:(READ)
";
    assert!(shown.contains(expected), "{shown}");
    assert!(shown.contains("\nGpuUnhealthy   Unknown\n  MonitorStale\n  gpu-monitor is silent\n"), "{shown}");
}
