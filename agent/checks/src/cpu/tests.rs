//! The reader and the judge on trees made from the kernel's ABI documents.

mod hotplug;
mod warmth;

use std::{collections::BTreeMap, fs, time::Duration};

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::probe::{Findings, Judge, NoAnswer, Now, PollError, Round, State};

/// A node of two packages with two cores of two threads each: CPU 4 to 7 are the siblings of 0 to 3.
struct Node {
    root: TempDir,
    now: Now,
    judge: CpuJudge,
    microcode: BTreeMap<u32, &'static str>,
}

impl Node {
    fn new() -> Self {
        let now = Now {
            wall: Timestamp::from_second(1_800_000_000).unwrap(),
            boottime: Duration::from_secs(100),
            boot_id: "boot-1".to_owned(),
        };
        let judge = CpuJudge::new(CpuSettings::default());
        let mut node = Self { root: tempfile::tempdir().unwrap(), now, judge, microcode: BTreeMap::new() };
        node.cpu("online", "0-7").cpu("present", "0-7").cpu("smt/control", "on");
        for cpu in 0..8 {
            node.topology(cpu);
        }
        node.revision(0..8, "0x2007006");
        node
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn cpu(&self, attribute: &str, text: &str) -> &Self {
        self.write(&format!("sys/devices/system/cpu/{attribute}"), text);
        self
    }

    fn topology(&self, cpu: u32) {
        let core = cpu % 4;
        self.cpu(&format!("cpu{cpu}/topology/physical_package_id"), &(core / 2).to_string());
        self.cpu(&format!("cpu{cpu}/topology/core_id"), &(core % 2).to_string());
        self.cpu(&format!("cpu{cpu}/topology/thread_siblings_list"), &format!("{core},{}", core + 4));
        self.throttled(cpu, 0, 0);
    }

    fn throttled(&self, cpu: u32, core_events: u64, package_events: u64) {
        self.cpu(&format!("cpu{cpu}/thermal_throttle/core_throttle_count"), &core_events.to_string());
        self.cpu(&format!("cpu{cpu}/thermal_throttle/package_throttle_count"), &package_events.to_string());
    }

    /// All CPUs of package 0 show these counts.
    fn hot(&self, core_events: u64, package_events: u64) {
        [0, 1, 4, 5].into_iter().for_each(|cpu| self.throttled(cpu, core_events, package_events));
    }

    fn revision(&mut self, cpus: std::ops::Range<u32>, revision: &'static str) {
        self.microcode.extend(cpus.map(|cpu| (cpu, revision)));
        let block = |(cpu, revision): (&u32, &&str)| {
            format!(
                "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Lab\nstepping\t: 7\nmicrocode\t: {revision}\n"
            )
        };
        let blocks: Vec<_> = self.microcode.iter().map(block).collect();
        self.write("proc/cpuinfo", &blocks.join("\n"));
    }

    fn reader(&self) -> CpuReader {
        let at = |name| self.root.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev"), run: at("run"), tracing: at("tracing") };
        CpuReader::new(roots, &CpuSettings::default())
    }

    fn pass(&mut self, secs: u64) -> &mut Self {
        let passed = Duration::from_secs(secs);
        self.now.wall += passed;
        self.now.boottime += passed;
        self
    }

    fn round(&self) -> Round {
        let mut reader = self.reader();
        let listed = reader.list().map_err(PollError::Read);
        let answers =
            listed.iter().flatten().map(|device| (device.clone(), reader.read(device).map_err(PollError::Read)));
        Round { now: self.now.clone(), answers: answers.collect(), listed }
    }

    /// A minute passes, and a round is judged.
    fn look(&mut self) -> Findings {
        let round = self.pass(60).round();
        self.judge.judge(round)
    }

    fn looks(&mut self, rounds: usize) -> Findings {
        let mut findings = Findings::default();
        (0..rounds).for_each(|_| findings = self.look());
        findings
    }

    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = CpuJudge::new(CpuSettings::default());
        if let Some(saved) = saved {
            self.judge.load(serde_json::from_str(&saved.to_string()).unwrap());
        }
    }
}

/// The reasons that hold against `subject`; `healthy`, `unknown` or `absent` if there are none.
fn reasons(findings: &Findings, subject: &str) -> Vec<String> {
    match findings.verdicts.iter().find(|verdict| verdict.subject == subject).map(|verdict| &verdict.state) {
        None => vec!["absent".to_owned()],
        Some(State::Healthy { .. }) => vec!["healthy".to_owned()],
        Some(State::Unknown { reason, .. }) => vec![format!("unknown: {reason}")],
        Some(State::Faulty(faults)) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
    }
}

#[test]
fn a_healthy_node_is_healthy() {
    let mut node = Node::new();
    let findings = node.looks(3);
    assert_eq!(findings.verdicts.len(), 1);
    assert_eq!(reasons(&findings, "CPU"), ["healthy"]);
    assert_eq!((findings.hardware[0].class.as_str(), findings.hardware[0].total), ("CPUs", 8));
    assert_eq!(findings.hardware[0].healthy(), 8);
}

#[test]
fn all_of_it_is_read() {
    let node = Node::new();
    node.hot(3, 20);
    node.cpu("cpu0/thermal_throttle/core_throttle_total_time_ms", "70");
    let reading: CpuReading = node.reader().read(ALL).unwrap().parse().unwrap();
    assert_eq!((reading.online.to_string(), reading.siblings.to_string()), ("0-7".to_owned(), "4-7".to_owned()));
    assert_eq!(reading.microcode[0].kind, "6/85/7");
    assert_eq!(
        (reading.throttling[0].cpus, reading.throttling[0].events, reading.throttling[0].millis),
        (4, 3 + 3 + 20, Some(70))
    );
    assert_eq!((reading.throttling[1].events, reading.throttling[1].millis), (0, None));
}

#[test]
fn a_machine_without_any_of_it_is_healthy_and_one_without_cpus_in_sysfs_is_not_there() {
    let mut node = Node::new();
    fs::remove_dir_all(node.root.path().join("sys")).unwrap();
    fs::remove_dir_all(node.root.path().join("proc")).unwrap();
    assert_eq!(node.look(), Findings::default());
    node.cpu("online", "0");
    assert_eq!(reasons(&node.look(), "CPU"), ["healthy"]);
}

#[test]
fn microcode_that_differs_twice_in_a_row_is_a_problem_until_it_does_not() {
    let mut node = Node::new();
    node.look();
    node.revision(6..8, "0x2006906");
    assert_eq!(reasons(&node.look(), "CPU"), ["healthy"], "an update may be under way");
    let findings = node.look();
    assert_eq!(reasons(&findings, "CPU"), ["MicrocodeMismatch"]);
    let State::Faulty(faults) = &findings.verdicts[0].state else { panic!() };
    assert_eq!(
        faults[0].message,
        "microcode differs: revision 0x2006906 on CPUs 6-7, revision 0x2007006 on CPUs 0-5; drain the node and reboot, \
         update the firmware if they still differ"
    );
    node.restart();
    assert_eq!(reasons(&node.look(), "CPU"), ["MicrocodeMismatch"], "a restart takes nothing back");
    node.revision(0..8, "0x2007006");
    assert_eq!(reasons(&node.look(), "CPU"), ["healthy"]);
}

#[test]
fn cpus_of_different_kinds_are_not_compared() {
    let mut node = Node::new();
    node.revision(4..8, "0x42");
    let path = node.root.path().join("proc/cpuinfo");
    let text = fs::read_to_string(&path).unwrap();
    let (big, small) = text.split_once("processor\t: 4").unwrap();
    fs::write(&path, format!("{big}processor\t: 4{}", small.replace("model\t\t: 85", "model\t\t: 86"))).unwrap();
    assert_eq!(reasons(&node.looks(3), "CPU"), ["healthy"]);
}

#[test]
fn cpuinfo_of_other_architectures_and_garbage_have_no_revision() {
    for text in
        ["", "processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n", "\n\n\n", "processor:\nmicrocode : 1\n", ":::"]
    {
        assert_eq!(microcode::revisions(text), [], "{text}");
    }
}

#[test]
fn no_answer_and_garbage_leave_it_unknown() {
    let mut node = Node::new();
    node.look();
    let no_answer = PollError::NoAnswer(NoAnswer::asked(node.now.wall, "no answer within 10 s"));
    for (answer, expected) in [
        (Err(no_answer), "unknown: DeviceNotAnswering"),
        (Ok(json!({"online": "0-"}).into()), "unknown: DeviceUnreadable"),
        (Ok(json!(7).into()), "unknown: DeviceUnreadable"),
    ] {
        let mut round = node.pass(60).round();
        round.answers = vec![(ALL.to_owned(), answer)];
        assert_eq!(reasons(&node.judge.judge(round), "CPU"), [expected]);
        assert_eq!(reasons(&node.look(), "CPU"), ["healthy"]);
    }
}

#[test]
fn without_a_list_all_is_unknown_and_counted_until_there_is_one() {
    for (error, reason) in crate::probe::unknown::tests::poll_errors() {
        let mut node = Node::new();
        let before = node.look();
        let (now, answers) = (node.pass(60).now.clone(), Vec::new());
        let findings = node.judge.judge(Round { now, listed: Err(error), answers });
        assert_eq!(reasons(&findings, ALL), [format!("unknown: {reason}")]);
        assert_eq!(findings.hardware[0].total, before.hardware[0].total);
        assert_eq!(findings.hardware[0].states["not answering"], before.hardware[0].total);
        assert_eq!(reasons(&node.look(), ALL), ["healthy"]);
    }
}
