//! Which pod a kill is of, in every wording: by the part of the cgroup's path that the kubelet made.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use jiff::Timestamp;
use nodewell_model::{Finding, NoFields, Origin, Record, RequiredProof, Severity};
use nodewell_rules::{Detector, LoadPlan, RulesFrom, load};

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";
const OTHER: &str = "11111111-2222-4333-8444-555555555555";
const KILLED: &str = "Killed process 7 (java) total-vm:1kB, anon-rss:1kB, file-rss:1kB, shmem-rss:0kB";

/// The shipped rules, which read a kernel's log.
struct Log {
    detector: Detector,
    lines: u64,
}

impl Log {
    fn new() -> Self {
        let loaded = load(&LoadPlan { rules: RulesFrom::BuiltIn, ..LoadPlan::default() });
        Self { detector: Detector::new(Arc::new(loaded.set), 0).unwrap(), lines: 0 }
    }

    /// What the last of `lines` shows.
    fn last(&mut self, lines: &[String]) -> Finding {
        let mut out = Vec::new();
        for text in lines {
            out.clear();
            self.lines += 1;
            let record = Record {
                time: Timestamp::UNIX_EPOCH,
                since_boot: None,
                boot_id: None,
                origin: Origin::Line { number: self.lines },
                text: text.as_bytes(),
                fields: &NoFields,
                test: false,
            };
            self.detector.push(&record, &mut out);
        }
        assert_eq!(out.len(), 1, "{lines:#?}: {out:#?}");
        out.remove(0)
    }
}

fn oom_kill(oom: &str, task: &str) -> String {
    format!(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-1.scope,mems_allowed=0-1,{oom},\
         task_memcg={task},task=java,pid=7,uid=0"
    )
}

fn memcg(oom: &str, task: &str) -> Vec<String> {
    vec![oom_kill(&format!("oom_memcg={oom}"), task), format!("Memory cgroup out of memory: {KILLED}")]
}

fn pod(finding: &Finding) -> Option<&str> {
    match &finding.required_proof {
        RequiredProof::Pod { uid } => Some(uid),
        _ => None,
    }
}

/// By systemd's driver and by cgroupfs, of containerd, CRI-O and kind, of every class of service.
fn paths(uid: &str) -> Vec<String> {
    let underscored = uid.replace('-', "_");
    vec![
        format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{underscored}.slice"),
        format!("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{underscored}.slice/crio-1.scope"),
        format!("/kubepods.slice/kubepods-pod{underscored}.slice/cri-containerd-1.scope"),
        format!("/kubepods/burstable/pod{uid}/4f2a"),
        format!("/kubepods/pod{uid}"),
        format!("/kubelet/kubepods/besteffort/pod{uid}/4f2a"),
        format!(
            "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/\
             kubelet-kubepods-burstable-pod{underscored}.slice/cri-containerd-1.scope"
        ),
    ]
}

#[test]
fn a_pods_own_limit_names_the_pod() {
    let mut log = Log::new();
    for uid in [UID, "abcdefabcdefabcdefabcdefabcdef12"] {
        for path in paths(uid) {
            let found = log.last(&memcg(&path, &path));
            assert_eq!((pod(&found), found.severity), (Some(uid), Severity::Warn), "{path}");
        }
    }
}

#[test]
fn a_limit_of_the_node_names_the_victims_pod() {
    let mut log = Log::new();
    for path in paths(UID) {
        let found = log.last(&memcg("/kubepods.slice", &path));
        assert_eq!((pod(&found), found.severity), (Some(UID), Severity::Error), "{path}");
        let whole = [oom_kill("global_oom", &path).replace("_MEMCG", "_NONE"), format!("Out of memory: {KILLED}")];
        let found = log.last(&whole);
        assert_eq!((pod(&found), found.severity), (Some(UID), Severity::Error), "{path}");
    }
}

#[test]
fn the_older_wording_names_the_pod() {
    let mut log = Log::new();
    for path in paths(UID) {
        let lines = [
            format!("Task in {path} killed as a result of limit of {path}"),
            "memory: usage 51200kB, limit 51200kB, failcnt 75".to_owned(),
            format!("Memory cgroup stats for {path}: cache:0KB rss:0KB"),
            "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name".to_owned(),
            "[      7]     0     7    81782    81782   393216        0           985 java".to_owned(),
            "Memory cgroup out of memory: Kill process 7 (java) score 1035 or sacrifice child".to_owned(),
            KILLED.to_owned(),
        ];
        assert_eq!(pod(&log.last(&lines)), Some(UID), "{path}");
    }
}

#[test]
fn every_kill_of_a_group_names_the_pod() {
    let (mut log, path) = (Log::new(), &paths(UID)[0]);
    let group = format!("Tasks in {path} are going to be killed due to memory.oom.group set");
    assert_eq!(pod(&log.last(&memcg(path, path))), Some(UID));
    let first = format!("Memory cgroup out of memory: {KILLED}");
    assert_eq!(pod(&log.last(&[group, first])), Some(UID));
    for n in 0..50 {
        let kill = format!("Memory cgroup out of memory: {}", KILLED.replace('7', &format!("{}", n + 8)));
        assert_eq!(pod(&log.last(&[kill])), Some(UID), "{n}");
    }
    // What comes after is another's.
    assert_eq!(pod(&log.last(&memcg("/faultlab", "/faultlab"))), None);
}

#[test]
fn no_container_names_another_pod() {
    let mut log = Log::new();
    let [own, other] = [UID, OTHER].map(|uid| format!("/kubepods/besteffort/pod{uid}"));
    for inner in [format!("{own}/x,task_memcg={other}"), format!("{own}{other}"), format!("{own}/kubepods/pod{OTHER}")]
    {
        assert_eq!(pod(&log.last(&memcg(&inner, &inner))), Some(UID), "{inner}");
    }
    for path in
        [format!("/docker/1{other}"), format!("/system.slice/x.service{other}"), "/kubepods/pod3c1b/x".to_owned()]
    {
        assert_eq!(pod(&log.last(&memcg(&path, &path))), None, "{path}");
    }
}
