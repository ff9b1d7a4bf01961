//! What of Node Problem Detector's rules the shipped ones find.

use super::{
    super::stock::{Shipped, from},
    *,
};
use crate::testing;

/// The stock files need hardly a rule of their own.
#[test]
fn what_the_shipped_rules_find_is_not_written() {
    let covering = [
        "kernel-monitor.json",
        "readonly-monitor.json",
        "docker-monitor.json",
        "systemd-monitor.json",
        "kernel-monitor-filelog.json",
        "kernel-monitor-counter.json",
        "docker-monitor-counter.json",
        "systemd-monitor-counter.json",
        "health-checker-kubelet.json",
        "health-checker-docker.json",
        "health-checker-containerd.json",
    ];
    for name in covering {
        let imported = import(&[stock(name)], Beside::Shipped).unwrap();
        assert_eq!(imported.files, [], "{name}");
        let of_rules = fates(&imported);
        assert!(
            !of_rules.is_empty() && of_rules.iter().all(|(fate, _)| *fate == Fate::Covered),
            "{name}: {imported:#?}"
        );
    }
    let imported = import(&[stock("kernel-monitor.json")], Beside::Shipped).unwrap();
    let item = |reason: &str| imported.items.iter().find(|item| item.text.starts_with(reason)).unwrap();
    assert!(item("Ext4Error: ").text.contains("as Ext4Error (DiskUnhealthy)"), "{:?}", item("Ext4Error"));
    assert!(item("DockerHung: ").text.contains("TaskHung (KernelDeadlock)"), "{:?}", item("DockerHung"));
    assert_eq!(item("OOMKilling: ").location.line, 26);
}

/// The lines of `stock.toml` are what the stock rules find, and what the shipped ones find.
#[test]
fn the_lines_of_stock_rules_are_found_by_both() {
    let mut shipped = Shipped::new();
    for index in 0..shipped.entries().len() {
        let entry = &shipped.entries()[index];
        for written in &entry.patterns {
            let mut detector = testing::detector(vec![testing::npd(entry.reason.as_str(), written, 10)]);
            for line in &entry.lines {
                let found = testing::push_all(&mut detector, &[line.as_str()]);
                assert_eq!(found[0].len(), 1, "{written} does not find {line}");
            }
        }
        assert!(shipped.found(index, None).is_some(), "no shipped rule finds what {:?} does", shipped.entries()[index]);
    }
}

#[test]
fn each_stock_rule_of_the_stock_files_is_known() {
    let mut shipped = Shipped::new();
    for name in ["kernel-monitor.json", "docker-monitor.json", "systemd-monitor.json", "systemd-monitor-counter.json"] {
        let file = stock(name);
        for draft in npd::read(&file.path, &file.text).rules {
            let from = from(&draft.reader, &draft.rule.fields).unwrap();
            let entry = shipped.entry(&draft.rule, &from);
            let found = entry.and_then(|entry| shipped.found(entry, draft.rule.condition.as_ref()));
            assert!(found.is_some(), "{name}: {}", draft.rule.reason);
        }
    }
}

/// The shipped rule of the same reason takes its line first, and says something else of it: that it is critical.
#[test]
fn a_rule_that_a_shipped_one_is_in_the_way_of_stays() {
    let rule = r#"{"type": "temporary", "reason": "KernelPanic",
        "pattern": "Kernel panic - not syncing: Fatal machine check.*"}"#;
    let imported = import(&[kernel(rule)], Beside::Shipped).unwrap();
    assert_eq!(fates(&imported), [(Fate::Kept, "KernelPanic")], "{imported:#?}");
    let why = &imported.items.iter().find(|item| item.fate == Fate::Kept).unwrap().text;
    assert!(why.contains("is taken by a rule of the same reason that is listed before this one"), "{why}");
    assert_eq!(loaded(&imported.files, Beside::Shipped).diagnostics, []);
}

#[test]
fn a_rule_that_says_what_a_shipped_one_says_is_native_beside_it() {
    let rule = r#"{"type": "permanent", "condition": "KernelUnhealthy", "reason": "KernelOops",
        "pattern": "BUG: unable to handle kernel paging request.*"}"#;
    let imported = import(&[kernel(rule)], Beside::Shipped).unwrap();
    assert_eq!(fates(&imported), [(Fate::Same, "KernelOops")], "{imported:#?}");
    assert_eq!(loaded(&imported.files, Beside::Shipped).diagnostics, []);
}
