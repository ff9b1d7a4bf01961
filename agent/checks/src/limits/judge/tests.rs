//! Whole rounds.

use std::time::Duration;

use crate::probe::{NoAnswer, RawReading, State};
use jiff::Timestamp;
use nodewell_model::ConditionStatus;
use proptest::prelude::*;

use super::*;
use crate::limits::reading::{Dates, Level, Owner, PARTS, Pressure, Process, Reboot, Scan, TaskId, Zombie};

fn now(secs: u64, boot_id: &str) -> Now {
    let wall = Timestamp::from_second(1_800_000_000 + secs.cast_signed()).unwrap();
    Now { wall, boottime: Duration::from_secs(secs), boot_id: boot_id.to_owned() }
}

fn settings() -> LimitsSettings {
    LimitsSettings { for_duration: Duration::ZERO, keep_firing_for: Duration::ZERO, ..LimitsSettings::default() }
}

fn judge_of(settings: LimitsSettings) -> LimitsJudge {
    LimitsJudge::new(settings, PodNames::default())
}

fn round(now: Now, answers: Vec<(&str, Answer)>) -> Round {
    let listed = Ok(PARTS.map(str::to_owned).to_vec());
    Round { now, listed, answers: answers.into_iter().map(|(part, answer)| (part.to_owned(), answer)).collect() }
}

fn answer(reading: impl Serialize) -> Answer {
    Ok(RawReading::of(&reading).unwrap())
}

fn conntrack(used: u64) -> KernelReading {
    KernelReading { conntrack: Some(Level { used, max: 100 }), taints: Some(0), ..KernelReading::default() }
}

/// What is reported of a subject; `None` if nothing.
fn status(findings: &Findings, condition: &str, subject: &str) -> Option<ConditionStatus> {
    let is_it = |verdict: &&Verdict| verdict.condition.as_str() == condition && verdict.subject == subject;
    findings.verdicts.iter().find(is_it).map(|verdict| match verdict.state {
        State::Healthy { .. } => ConditionStatus::False,
        State::Faulty(_) => ConditionStatus::True,
        State::Unknown { .. } => ConditionStatus::Unknown,
    })
}

#[test]
fn a_level_goes_up_and_down() {
    let mut judge = judge_of(settings());
    let mut full = |secs, used| {
        let findings = judge.judge(round(now(secs, "a"), vec![(KERNEL, answer(conntrack(used)))]));
        status(&findings, "ResourceExhausted", "conntrack").unwrap() == ConditionStatus::True
    };
    let reported = [(0, 50), (60, 95), (120, 85), (180, 79)].map(|(secs, used)| full(secs, used));
    assert_eq!(reported, [false, true, true, false]);
}

#[test]
fn a_part_that_does_not_answer_hides_nothing_of_the_others() {
    let mut judge = judge_of(settings());
    let certificates = [("/a.pem".to_owned(), Dates { not_before: 0, not_after: 1 })].into();
    let files = FilesReading { certificates, reboot: None };
    let first = vec![(KERNEL, answer(conntrack(95))), (FILES, answer(files)), (TASKS, answer(TasksReading::default()))];
    judge.judge(round(now(0, "a"), first));
    let no_answer = NoAnswer::asked(Timestamp::UNIX_EPOCH, "no answer");
    let second = vec![(FILES, Err(PollError::NoAnswer(no_answer))), (KERNEL, answer(conntrack(95)))];
    let findings = judge.judge(round(now(60, "a"), second));
    assert_eq!(status(&findings, "CertificateExpiring", "/a.pem"), Some(ConditionStatus::Unknown));
    assert_eq!(status(&findings, "ResourceExhausted", "conntrack"), Some(ConditionStatus::True));
    // What was not asked is as it was.
    let findings = judge.judge(round(now(120, "a"), vec![(KERNEL, answer(conntrack(95)))]));
    assert_eq!(status(&findings, "CertificateExpiring", "/a.pem"), Some(ConditionStatus::Unknown));
    assert_eq!(status(&findings, "TasksUnhealthy", ""), Some(ConditionStatus::False));
}

#[test]
fn a_kernel_that_may_not_be_read_is_unknown_and_one_without_procfs_is_nothing() {
    let mut judge = judge_of(settings());
    let denied = PollError::Read(ReadError::Denied { message: "no".to_owned() });
    let findings = judge.judge(round(now(0, "a"), vec![(KERNEL, Err(denied))]));
    assert_eq!(status(&findings, "ResourceExhausted", ""), Some(ConditionStatus::Unknown));
    let gone = Err(PollError::Read(ReadError::Gone { what: "proc".to_owned() }));
    assert_eq!(judge.judge(Round { now: now(0, "a"), listed: gone, answers: Vec::new() }), Findings::default());
}

#[test]
fn what_is_saved_outlives_a_restart_and_not_a_boot() {
    let mut judge = judge_of(settings());
    let reboot = FilesReading { reboot: Some(Reboot::default()), ..FilesReading::default() };
    let answers = || vec![(KERNEL, answer(conntrack(95))), (FILES, answer(&reboot))];
    assert_eq!(judge.judge(round(now(0, "a"), answers())).events.len(), 1);
    let saved = judge.save().unwrap();
    assert_eq!(judge.save(), None);
    let loaded = || {
        let mut judge = judge_of(LimitsSettings { for_duration: Duration::from_secs(120), ..settings() });
        judge.load(saved.clone());
        judge
    };
    let (mut same, mut other) = (loaded(), loaded());
    assert_eq!(same.save(), None);
    let findings = same.judge(round(now(60, "a"), answers()));
    assert_eq!(status(&findings, "ResourceExhausted", "conntrack"), Some(ConditionStatus::True));
    assert!(findings.events.is_empty(), "reported already");
    let findings = other.judge(round(now(60, "b"), answers()));
    assert_eq!(status(&findings, "ResourceExhausted", "conntrack"), Some(ConditionStatus::False));
    let mut forgetful = judge_of(settings());
    forgetful.load(Value::String("garbage".to_owned()));
    assert_eq!(forgetful.judge(round(now(0, "a"), answers())).events.len(), 1);
}

/// The parent is a pod's and has `count` zombies.
fn zombies_of_a_pod(count: u32) -> TasksReading {
    let owner = Some(Owner::Pod("0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7".to_owned()));
    let parent = Process { pid: 7, name: "java".to_owned(), owner };
    let zombie = |pid| Zombie { id: TaskId { pid, start: 7 }, parent: parent.clone() };
    TasksReading { scan: Some(Scan { zombies: (10..10 + count).map(zombie).collect(), ..Scan::default() }) }
}

/// The zombies of all pods count in what the kernel has of process numbers: when those run out it is the node's problem.
#[test]
fn zombies_of_pods_are_the_nodes_problem_only_when_it_runs_out_of_numbers() {
    let mut judge = judge_of(settings());
    let mut look = |secs, tasks| {
        let pids = Some(Level { used: tasks, max: 1000 });
        let kernel = answer(KernelReading { pids, ..KernelReading::default() });
        judge.judge(round(now(secs, "a"), vec![(TASKS, answer(zombies_of_a_pod(300))), (KERNEL, kernel)]))
    };
    look(0, 400);
    let well = look(60, 400);
    assert_eq!(well.events[0].reason.as_str(), "PodZombieTasks");
    let danger = look(120, 950);
    for (findings, pids) in [(well, ConditionStatus::False), (danger, ConditionStatus::True)] {
        let tasks: Vec<_> = findings.verdicts.iter().filter(|one| one.condition.as_str() == "TasksUnhealthy").collect();
        assert!(matches!(&tasks[..], [one] if matches!(one.state, State::Healthy { .. })), "{tasks:?}");
        assert_eq!(status(&findings, "ResourceExhausted", "pids"), Some(pids));
    }
}

#[test]
fn controllers_of_version_1_are_counted() {
    let mut judge = judge_of(settings());
    let controllers = [("cpu".to_owned(), true), ("memory".to_owned(), false)].into();
    let reading = CgroupsReading { controllers, ..CgroupsReading::default() };
    let hardware = judge.judge(round(now(0, "a"), vec![(CGROUPS, answer(reading))])).hardware;
    assert_eq!((hardware[0].total, hardware[0].healthy()), (2, 1));
    assert!(hardware[0].informational, "no devices");
}

#[test]
fn every_reason_is_in_the_catalogue_with_its_condition() {
    let pressure = Some(Pressure { some: 10_000, full: 10_000 });
    let level = Some(Level { used: 10, max: 10 });
    let kernel = KernelReading {
        conntrack: level,
        file_handles: level,
        pids: level,
        threads: level,
        memory_pressure: pressure,
        cpu_pressure: pressure,
        io_pressure: pressure,
        load: 100.0,
        cpus: 1,
        ..KernelReading::default()
    };
    let mut judge = judge_of(settings());
    let findings = judge.judge(round(now(0, "a"), vec![(KERNEL, answer(kernel))]));
    let mut count = 0;
    for verdict in &findings.verdicts {
        let State::Faulty(faults) = &verdict.state else { continue };
        for fault in faults {
            let known = nodewell_faults::reason::named(fault.reason.as_str()).unwrap();
            assert_eq!(known.condition, Some(verdict.condition.as_str()), "{}", fault.reason);
            count += 1;
        }
    }
    assert_eq!(count, 7);
}

proptest! {
    /// Garbage from a worker is an unreadable part, never a panic, and no verdict that all is healthy.
    #[test]
    fn garbage_from_a_worker_is_unreadable(text in ".{0,60}", part in 0..PARTS.len()) {
        let mut judge = judge_of(settings());
        let garbage = Ok(Value::String(text).into());
        let findings = judge.judge(round(now(0, "a"), vec![(PARTS[part], garbage)]));
        prop_assert!(findings.events.is_empty());
        prop_assert!(PARTS[part] != KERNEL || status(&findings, "ResourceExhausted", "") == Some(ConditionStatus::Unknown));
    }

    #[test]
    fn no_clock_breaks_it(moments in prop::collection::vec((0_u64..1 << 36, 0_u64..200, 0_u64..1 << 20), 1..20)) {
        let mut judge = judge_of(settings());
        for (secs, used, bits) in moments {
            let scan = TasksReading { scan: Some(Scan::default()) };
            let reading = KernelReading { taints: Some(bits), ..conntrack(used) };
            judge.judge(round(now(secs, ""), vec![(KERNEL, answer(reading)), (TASKS, answer(scan))]));
            let _ = judge.save();
        }
    }
}
