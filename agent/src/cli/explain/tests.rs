//! What people read of reasons and codes.

use nodewell_rules::{LoadPlan, RuleSet};

use super::{list, own, text, topic::Topic};

fn shipped() -> RuleSet {
    nodewell_rules::load(&LoadPlan::default()).set
}

fn explained(word: &str) -> Result<String, String> {
    Topic::parse(word)?.explain(&shipped()).map(|explained| text::shown(&explained))
}

fn expect_text(word: &str, expected: &[&str]) {
    let text = explained(word).unwrap();
    for words in expected {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
}

#[test]
fn a_reason_is_found_in_any_case_and_a_near_one_suggested() {
    expect_text("kerneloops", &["KernelOops\n", "KernelUnhealthy True", "ends      by `nodewell clear`"]);
    for (slip, meant) in [
        ("KernelOop", "KernelOops"),
        ("GpuXid79FalenOffBus", "GpuXid79FallenOffBus"),
        ("xdi:79", "xid:79"),
        ("nvme:critical-warnin", "nvme:critical-warning"),
    ] {
        let error = explained(slip).unwrap_err();
        assert!(error.contains(&format!("Did you mean {meant}?")), "{error}");
    }
}

#[test]
fn a_condition_is_explained_by_what_holds_it() {
    let disk = [
        "DiskUnhealthy\n",
        "a condition",
        "True      a disk, an array, a path to a storage or a filesystem has a fault\n",
        "healthy ",
        "rules of  journal-monitor, kernel-monitor\n",
        "rules in  built-in/filesystem.toml, built-in/",
        "checks    bmc, disk, fibre-channel\n",
        "held True by",
        "  IOError\n",
    ];
    expect_text("DiskUnhealthy", &disk);
    expect_text("diskunhealthy", &disk[..1]);
    // Its reasons are in a table of codes.
    expect_text("GpuUnhealthy", &["critical  GpuXid79FallenOffBus\n"]);
    let error = explained("DiskUnhealty").unwrap_err();
    assert!(error.contains("Did you mean DiskUnhealthy?"), "{error}");
}

#[test]
fn every_condition_can_be_explained_and_is_named_for_shells() {
    let set = shipped();
    let names = list::names(&set);
    assert!(names.conditions.len() > 20 && names.conditions.is_sorted() && names.reasons.is_sorted());
    for condition in &names.conditions {
        let explained = Topic::parse(condition.as_str()).unwrap().explain(&set).unwrap();
        let found = explained.condition.unwrap();
        assert_eq!(found.condition, *condition);
        assert!(found.healthy.is_some(), "{condition}");
        assert!(!found.reasons.is_empty(), "{condition} is held True by nothing");
    }
}

#[test]
fn reasons_of_the_agents_own_are_explained_by_their_messages() {
    expect_text("MonitorStale", &["MonitorStale\n", "makes conditions Unknown", "message   no report for 90s; check"]);
    expect_text("monitorstarting", &["MonitorStarting\n", "starting, no report yet"]);
    expect_text("UnexpectedReboot", &["error: an event only", "no shutdown before the reboot"]);
    expect_text("StateDiskFull", &["error: holds AgentStateUnwritable True", "free space there"]);
    expect_text("AgentStateUnwritable", &["held True by", "error     StateDiskFull\n"]);
    for reason in ["KmsgUnreadable", "DeviceNotAnswering", "PermissionDenied", "DevicesReleased"] {
        expect_text(reason, &["makes conditions Unknown", "message "]);
    }
    let error = explained("MonitorStal").unwrap_err();
    assert!(error.contains("Did you mean MonitorStale?"), "{error}");
}

#[test]
fn every_listed_message_has_a_whole_text_and_a_condition_that_is_declared() {
    let set = shipped();
    let conditions = list::names(&set).conditions;
    for own in own::all(&set) {
        assert!(!own.messages.is_empty(), "{}", own.reason);
        if let own::Holds::True(condition) = &own.holds {
            assert!(conditions.contains(condition) && own.severity.is_some(), "{}", own.reason);
        }
    }
}

#[test]
fn a_code_is_explained_by_what_it_means_how_sure_that_is_and_what_to_do() {
    let fallen = [
        "GpuXid79FallenOffBus\n",
        "critical: holds GpuUnhealthy True, action reboot",
        "sure ",
        "RESTART_BM",
        "advice ",
    ];
    expect_text("xid:79", &fallen);
    expect_text("XID:79", &fallen);
    expect_text(
        "gpuxid79fallenoffbus",
        &[&fallen[..], &["NVRM: GPU 0000:29:00.0: GPU has fallen off the bus."]].concat(),
    );
    expect_text(
        "sxid:24007",
        &["NvSwitchSXid24007SourcetrackTimeout\n", "if fatal  critical: holds GpuFabricUnhealthy True"],
    );
    // As its line is judged: an Event, but for a line that says Fatal.
    expect_text("sxid:31999", &["an event only", "if fatal  critical: holds GpuFabricUnhealthy True"]);
    expect_text("xid:999", &["GpuXid999Unlisted\n", "an event only"]);
    expect_text("GpuXid999Unlisted", &["an event only"]);
}

#[test]
fn what_disks_count_is_explained() {
    expect_text("smart:197", &["smart:197 (PendingSectors)\n", "growth announces a failing disk", "rising "]);
    expect_text("nvme:critical_warning", &["nvme:critical-warning", "NvmeSpareLow", "log page 02h"]);
}

#[test]
fn each_kind_of_reason_says_where_it_comes_from() {
    expect_text("KernelOops", &["rule      built-in/"]);
    expect_text("NvmeSpareLow", &["check     disk\n"]);
    expect_text("xid:79", &["table     "]);
    expect_text("StateDiskFull", &["from the agent itself"]);
    let set = shipped();
    for reason in nodewell_faults::reason::all() {
        let explained = Topic::parse(reason.name.as_str()).unwrap().explain(&set).unwrap();
        assert!(explained.check.is_some(), "{}", reason.name);
    }
}

#[test]
fn what_is_no_code_is_reported_as_such() {
    for (word, expected) in [
        ("xid:", "takes a number, as in xid:79"),
        ("xid:0", "zero is no Xid"),
        ("smart:1970", "takes a number"),
        ("smart:255", "no meaning that vendors share"),
        ("nvme:colour", "has no field"),
        ("disk:1", "There are xid, sxid, smart and nvme"),
        ("Nonsense", "--list"),
    ] {
        let error = explained(word).unwrap_err();
        assert!(error.contains(expected), "{word}: {error}");
    }
}

#[test]
fn every_listed_reason_can_be_explained() {
    let listed = serde_json::to_value(list::listed(&shipped())).unwrap();
    let reasons: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|line| line["reason"].as_str()).collect();
    for wanted in ["KernelOops", "GpuXid79FallenOffBus", "NvSwitchSXid24007SourcetrackTimeout"] {
        assert!(reasons.contains(&wanted), "{wanted} is not listed");
    }
    assert!(!reasons.contains(&"GpuXid"), "a decoder's rule is no reason");
    let set = shipped();
    for reason in reasons {
        assert!(Topic::parse(reason).unwrap().explain(&set).is_ok(), "{reason}");
    }
}

#[test]
fn words_are_wrapped() {
    let text = text::wrapped(&"word ".repeat(40));
    assert!(text.lines().all(|line| line.len() <= 100 && line.starts_with("    word")), "{text}");
    assert_eq!(text.split_whitespace().count(), 40);
}
