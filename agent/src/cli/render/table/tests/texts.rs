//! Texts that several rows have stand once, and no other text is taken for one of them.

use nodewell_model::view::ConfigurationView;

use super::*;

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
fn a_text_that_is_a_part_of_the_conditions_is_not_taken_for_it() {
    let mut disk = condition("DiskUnhealthy", ConditionStatus::True, "IOError", "sdb: read failed at 42; also sdc");
    disk.problems = vec![problem("sdb", "read failed at 42"), problem("sdc", "read failed")];
    let mut view = sick();
    view.conditions = vec![disk.into()];
    let shown = table(&view, at(0), &Look::PLAIN);
    assert!(shown.contains("IOError  sdc  error  ×7  seen 2m ago  → replace-disk  read failed\n"), "{shown}");
    assert_eq!(shown.matches("read failed at 42").count(), 1, "the worst problem's stands above: {shown}");
}

#[test]
fn advice_that_is_a_part_of_a_conditions_message_is_not_taken_for_it() {
    let mut view = sick();
    view.daemons = vec![daemon("journal-monitor", DaemonState::Blind, "no permission")];
    let text = "kernel-monitor: no permission to read /dev/kmsg; run it as root";
    view.conditions.push(condition("KernelUnhealthy", ConditionStatus::Unknown, "KmsgUnreadable", text).into());
    let shown = table(&view, at(0), &Look::PLAIN);
    assert!(shown.contains("journal-monitor  blind     LibraryMissing: no permission\n"), "{shown}");
}

#[test]
fn what_the_agent_goes_by_is_shown_with_what_is_well() {
    let mut view = sick();
    let hash = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let configuration = ConfigurationView { hash: hash("a"), rules_hash: hash("b"), loaded: at(7200) };
    view.configuration = Some(configuration.into());
    assert!(!table(&view, at(0), &Look::PLAIN).contains("Configuration"));
    let all = of(&view, Extent::All, at(0), &Look::PLAIN);
    assert!(all.ends_with("\nConfiguration: aaaaaaaaaaaa, rules: bbbbbbbbbbbb, taken 2h ago\n"), "{all}");
    let wide = of(&view, Extent::Wide, at(0), &Look::PLAIN);
    let line = format!("\nConfiguration: {}, rules: {}, taken 2h ago\n", hash("a"), hash("b"));
    assert!(wide.ends_with(&line), "{wide}");
}
