//! Restarts, reboots, devices that vanish or do not answer, and answers that make no sense.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{memory::reading::WHOLE, probe::NoAnswer};

fn no_answer(node: &Node) -> PollError {
    PollError::NoAnswer(NoAnswer::asked(node.now.wall, "no answer within 10 s"))
}

#[test]
fn what_is_saved_goes_on_after_a_restart() {
    let mut node = Node::new();
    node.look();
    node.mc("dimm1/dimm_ce_count", 8).mc("dimm0/dimm_ue_count", 1);
    node.look();
    node.restart();
    node.mc("dimm1/dimm_ce_count", 11);
    let findings = node.look();
    assert_eq!(reasons(&findings, DIMM), ["MemoryCorrectedError"], "8 before the restart and 3 after it");
    assert_eq!(reasons(&findings, "CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), ["MemoryUncorrectedError"]);
}

#[test]
fn a_worn_module_is_worn_after_a_reboot_until_a_day_has_passed() {
    let mut node = Node::new();
    node.look();
    node.mc("dimm1/dimm_ce_count", 50);
    node.look();
    node.restart();
    node.mc("dimm1/dimm_ce_count", 0);
    node.reboot(600);
    assert_eq!(reasons(&node.look(), DIMM), ["MemoryCorrectedError"]);
    node.restart();
    node.reboot(26 * 3600);
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
}

#[test]
fn modules_that_were_taken_out_are_forgotten_with_the_next_boot() {
    let mut node = Node::new();
    node.look();
    fs::remove_dir_all(node.path("sys/devices/system/edac/mc/mc0/dimm0")).unwrap();
    node.reboot(600);
    assert_eq!(node.look().hardware[0].total, 1);
    assert!(!node.judge.save().unwrap().to_string().contains("dimm0"));
}

#[test]
fn it_is_saved_when_something_changed_and_only_then() {
    let mut node = Node::new();
    assert_eq!(node.judge.save(), None, "nothing was seen yet");
    node.look();
    assert!(node.judge.save().is_some());
    node.look();
    assert_eq!(node.judge.save(), None);
    node.mc("dimm1/dimm_ce_count", 1);
    node.look();
    let saved = node.judge.save().unwrap();
    assert!(saved.to_string().len() < 2000, "{saved}");
}

#[test]
fn a_controller_that_does_not_answer_leaves_its_modules_unknown() {
    let mut node = Node::new();
    node.look();
    let mut round = node.pass(60).round();
    round.answers = vec![("MC0".to_owned(), Err(no_answer(&node)))];
    let findings = node.judge.judge(round);
    assert_eq!(reasons(&findings, DIMM), ["unknown: DeviceNotAnswering"]);
    assert_eq!(reasons(&findings, "Memory"), ["healthy"]);
    assert_eq!(findings.hardware[0].states["not answering"], 2);
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
}

#[test]
fn a_device_that_was_not_asked_is_as_it_was() {
    let mut node = Node::new();
    node.mc("dimm1/dimm_ue_count", 1);
    let before = node.look();
    let mut round = node.pass(60).round();
    round.answers.clear();
    assert_eq!(node.judge.judge(round).verdicts, before.verdicts);
}

#[test]
fn a_list_that_is_unknown_leaves_everything_unknown_and_one_that_is_gone_nothing() {
    let mut node = Node::new();
    node.look();
    let unknown = Round { now: node.now.clone(), listed: Err(no_answer(&node)), answers: Vec::new() };
    assert_eq!(reasons(&node.judge.judge(unknown), DIMM), ["unknown: DeviceNotAnswering"]);
    let listed = Err(PollError::Read(ReadError::Gone { what: "memory".to_owned() }));
    let gone = Round { now: node.now.clone(), listed, answers: Vec::new() };
    assert_eq!(node.judge.judge(gone), Findings::default());
}

#[test]
fn a_driver_that_is_unloaded_takes_its_modules_along_but_not_what_they_lost() {
    let mut node = Node::new();
    node.mc("dimm1/dimm_ue_count", 1);
    node.look();
    let kept_away = node.path("away");
    fs::rename(node.path("sys/devices/system/edac"), &kept_away).unwrap();
    let findings = node.look();
    assert_eq!(reasons(&findings, DIMM), ["MemoryUncorrectedError"]);
    assert_eq!(reasons(&findings, "CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), ["absent"]);
    fs::rename(&kept_away, node.path("sys/devices/system/edac")).unwrap();
    let findings = node.look();
    assert_eq!(reasons(&findings, DIMM), ["MemoryUncorrectedError"]);
    assert_eq!(reasons(&findings, "CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), ["healthy"]);
}

#[test]
fn an_answer_that_makes_no_sense_is_unreadable() {
    for garbage in [json!(null), json!({"controller": {"modules": 7}}), json!({"whole": "\u{0}"}), json!([])] {
        let mut node = Node::new();
        node.look();
        let mut round = node.pass(60).round();
        round.answers = vec![("MC0".to_owned(), Ok(garbage.clone().into())), (WHOLE.to_owned(), Ok(garbage.into()))];
        let findings = node.judge.judge(round);
        assert_eq!(reasons(&findings, DIMM), ["unknown: DeviceUnreadable"]);
        assert_eq!(reasons(&findings, "Memory"), ["unknown: DeviceUnreadable"]);
    }
}

#[test]
fn kept_garbage_is_forgotten() {
    let mut node = Node::new();
    for garbage in [json!(null), json!({"moment": 3}), json!({"memory": {"modules": {"MC0/dimm1": {"lost": -1}}}})] {
        node.judge.load(garbage);
    }
    assert_eq!(reasons(&node.look(), DIMM), ["healthy"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is counted and however clocks run: no panic, every module has a verdict, no reason stands twice.
    #[test]
    fn no_counters_and_no_clocks_break_it(
        rounds in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), 0u64..1 << 40, any::<i32>(), any::<bool>()), 1..12),
    ) {
        let mut judge = MemoryJudge::new(MemorySettings::default());
        for (corrected, uncorrected, secs, boottime, wall, boots) in rounds {
            let errors = json!({"corrected": corrected, "uncorrected": uncorrected});
            let modules = json!([{"slot": "dimm0", "label": "A1", "errors": errors}, {"slot": "dimm1", "errors": errors}]);
            let answer = json!({"controller": {"modules": modules, "unplaced": errors, "counting_secs": secs}});
            let whole = json!({"whole": {"corrupted_kb": corrected, "lost_pages": u64::from(uncorrected) << 32}});
            let now = Now {
                wall: Timestamp::from_second(i64::from(wall)).unwrap(),
                boottime: Duration::from_secs(boottime),
                boot_id: if boots { "a".to_owned() } else { String::new() },
            };
            let answers = vec![("MC0".to_owned(), Ok(answer.into())), (WHOLE.to_owned(), Ok(whole.into()))];
            let findings = judge.judge(Round { now, listed: Ok(vec!["MC0".to_owned(), WHOLE.to_owned()]), answers });
            for subject in ["A1", "MC0/dimm1", "Memory"] {
                let mut reported = reasons(&findings, subject);
                prop_assert_ne!(&reported[0], "absent");
                let count = reported.len();
                reported.dedup();
                prop_assert_eq!(count, reported.len());
            }
            let saved = judge.save();
            saved.into_iter().for_each(|saved| judge.load(saved));
        }
    }
}

#[test]
fn without_a_list_all_is_unknown_and_counted_until_there_is_one() {
    for (error, reason) in crate::probe::unknown::tests::poll_errors() {
        let mut node = Node::new();
        node.look();
        node.mc("dimm1/dimm_ue_count", 1);
        assert_eq!(reasons(&node.look(), DIMM), ["MemoryUncorrectedError"]);
        let round = Round { now: node.now.clone(), listed: Err(error), answers: Vec::new() };
        let findings = node.judge.judge(round);
        for subject in [DIMM, "Memory"] {
            assert_eq!(reasons(&findings, subject), [format!("unknown: {reason}")]);
        }
        assert_eq!(findings.hardware[0].total, 2);
        assert_eq!(reasons(&node.look(), DIMM), ["MemoryUncorrectedError"], "it is not forgotten");
    }
}
