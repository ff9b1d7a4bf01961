//! Verdicts from EDAC's counters.

use super::*;

#[test]
fn a_healthy_node_is_healthy() {
    let mut node = Node::new();
    let findings = node.look();
    assert_eq!(findings.verdicts.len(), 3);
    assert!(findings.verdicts.iter().all(|verdict| matches!(verdict.state, State::Healthy { .. })), "{findings:?}");
    assert_eq!((findings.hardware[0].class.as_str(), findings.hardware[0].total), ("memory modules", 2));
    assert_eq!(findings.hardware[0].healthy(), 2);
}

#[test]
fn ten_corrected_errors_of_a_day_are_a_problem_and_end_after_a_day_without() {
    let mut node = Node::new();
    node.look();
    node.mc("dimm1/dimm_ce_count", 9);
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
    node.mc("dimm1/dimm_ce_count", 10);
    let findings = node.look();
    assert_eq!(reasons(&findings, DIMM), ["MemoryCorrectedError"]);
    assert_eq!(findings.hardware[0].states["degrading"], 1);
    assert_eq!(reasons(&node.look(), "CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), ["healthy"]);
    node.pass(23 * 3600);
    assert_eq!(reasons(&node.look(), DIMM), ["MemoryCorrectedError"]);
    node.pass(3 * 3600);
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
}

#[test]
fn errors_that_trickle_are_none() {
    let mut node = Node::new();
    node.look();
    for errors in 1..40 {
        node.mc("dimm1/dimm_ce_count", errors).mc("seconds_since_reset", 100 + errors * 4 * 3600);
        node.pass(4 * 3600);
        assert_eq!(reasons(&node.look(), DIMM), ["healthy"], "{errors}");
    }
}

#[test]
fn a_problem_is_reported_with_the_same_message_while_nothing_happens() {
    let mut node = Node::new();
    node.mc("dimm1/dimm_ce_count", 500).mc("dimm0/dimm_ue_count", 2);
    let first = node.look().verdicts;
    node.pass(5 * 3600);
    assert_eq!(node.look().verdicts, first);
}

#[test]
fn old_counts_at_first_sight_are_no_verdict_but_fresh_ones_are() {
    for (age_secs, expected) in [(90 * 24 * 3600, "healthy"), (3600, "MemoryCorrectedError")] {
        let mut node = Node::new();
        node.mc("seconds_since_reset", age_secs).mc("dimm1/dimm_ce_count", 5000);
        assert_eq!(reasons(&node.look(), DIMM), [expected]);
    }
}

#[test]
fn an_uncorrected_error_counts_at_once_and_until_the_next_boot() {
    let mut node = Node::new();
    node.look();
    node.mc("dimm1/dimm_ue_count", 1);
    let findings = node.look();
    assert_eq!(reasons(&findings, DIMM), ["MemoryUncorrectedError"]);
    assert_eq!(findings.hardware[0].states["failing"], 1);
    node.pass(40 * 24 * 3600);
    assert_eq!(reasons(&node.look(), DIMM), ["MemoryUncorrectedError"]);
    node.mc("dimm1/dimm_ue_count", 0);
    node.reboot(300);
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
}

#[test]
fn what_was_lost_before_the_first_look_of_a_boot_is_reported() {
    let mut node = Node::new();
    node.mc("seconds_since_reset", 10_000_000).mc("dimm0/dimm_ue_count", 3).mc("dimm1/dimm_ce_count", 5000);
    let findings = node.look();
    assert_eq!(reasons(&findings, "CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), ["MemoryUncorrectedError"]);
    assert_eq!(reasons(&findings, DIMM), ["healthy"]);
}

#[test]
fn both_faults_of_a_module_stand_beside_each_other() {
    let mut node = Node::new();
    node.mc("dimm1/dimm_ue_count", 1).mc("dimm1/dimm_ce_count", 50);
    assert_eq!(reasons(&node.look(), DIMM), ["MemoryUncorrectedError", "MemoryCorrectedError"]);
}

#[test]
fn counters_that_are_reset_are_neither_errors_nor_health() {
    let mut node = Node::new();
    node.mc("seconds_since_reset", 200_000).mc("dimm1/dimm_ce_count", 7000).mc("dimm1/dimm_ue_count", 1);
    node.look();
    node.mc("seconds_since_reset", 30).mc("dimm1/dimm_ce_count", 0).mc("dimm1/dimm_ue_count", 0);
    assert_eq!(reasons(&node.look(), DIMM), ["MemoryUncorrectedError"]);
    // Since the reset there are as many as before it, and more.
    node.mc("seconds_since_reset", 20).mc("dimm1/dimm_ce_count", 7010);
    assert_eq!(reasons(&node.look(), DIMM), ["MemoryUncorrectedError", "MemoryCorrectedError"]);
}

#[test]
fn a_counter_that_goes_back_without_a_reset_is_garbage() {
    let mut node = Node::new();
    node.mc("seconds_since_reset", 200_000).mc("dimm1/dimm_ce_count", 7000);
    node.look();
    node.mc("seconds_since_reset", 200_060).mc("dimm1/dimm_ce_count", 6000);
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
}

#[test]
fn a_counter_that_wraps_counts_from_zero() {
    let mut node = Node::new();
    fs::remove_file(node.path("sys/devices/system/edac/mc/mc0/seconds_since_reset")).unwrap();
    node.mc("dimm1/dimm_ce_count", u64::from(u32::MAX));
    node.look();
    node.mc("dimm1/dimm_ce_count", 3);
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
    node.mc("dimm1/dimm_ce_count", 13);
    assert_eq!(reasons(&node.look(), DIMM), ["MemoryCorrectedError"]);
}

#[test]
fn errors_that_the_driver_cannot_place_are_the_controllers() {
    let mut node = Node::new();
    assert_eq!(reasons(&node.look(), "MC0"), ["absent"]);
    node.mc("ue_noinfo_count", 1).mc("ce_noinfo_count", 3);
    let findings = node.look();
    assert_eq!(reasons(&findings, "MC0"), ["MemoryUncorrectedError"]);
    assert_eq!(findings.hardware[0].total, 2, "a controller is no module");
}

#[test]
fn a_controller_without_modules_is_judged_by_itself() {
    let mut node = Node::without_edac();
    node.mc("ce_count", 1).mc("ue_count", 5);
    let findings = node.look();
    assert_eq!(reasons(&findings, "MC0"), ["MemoryUncorrectedError"]);
    assert_eq!(findings.hardware, [], "the number of modules is unknown");
}

#[test]
fn modules_of_the_same_name_are_one_subject() {
    let mut node = Node::new();
    node.write("sys/devices/system/edac/mc/mc0/dimm0/dimm_label", DIMM);
    node.mc("dimm0/dimm_ue_count", 1).mc("dimm1/dimm_ce_count", 50);
    let findings = node.look();
    assert_eq!(findings.verdicts.len(), 2);
    assert_eq!(reasons(&findings, DIMM), ["MemoryUncorrectedError", "MemoryCorrectedError"]);
}

#[test]
fn a_module_without_a_label_goes_by_its_slot_and_takes_its_past_along_when_it_is_named() {
    let mut node = Node::new();
    node.write("sys/devices/system/edac/mc/mc0/dimm1/dimm_label", "");
    node.mc("dimm1/dimm_ue_count", 1);
    assert_eq!(reasons(&node.look(), "MC0/dimm1"), ["MemoryUncorrectedError"]);
    node.write("sys/devices/system/edac/mc/mc0/dimm1/dimm_label", "DIMM_B1");
    let findings = node.look();
    assert_eq!(reasons(&findings, "DIMM_B1"), ["MemoryUncorrectedError"]);
    assert_eq!(reasons(&findings, "MC0/dimm1"), ["absent"]);
}
