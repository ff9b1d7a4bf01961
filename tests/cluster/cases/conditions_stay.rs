//! The agent's conditions are on the Node before, during and after a restart of its service and a reboot of its machine,
//! and what was healthy all the time has its transition time from before.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use nodewell_cluster::{CLUSTER, Cluster, Plan};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);
/// A machine shuts down with its pods, boots, and its checks look once.
const REBOOTED: Duration = Duration::from_secs(240);
const NODE: &str = "w1";
/// The kubelet's own.
const KUBELETS: [&str; 5] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
/// Of a process of its own each: they stop and start with the agent.
const OF_CHECK_PROCESSES: [&str; 2] = ["TasksUnhealthy", "FilesystemFull"];

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("conditions_stay")
        .case_with(&[Need::LongSuite, CLUSTER], "through_a_restart_and_a_reboot", through_a_restart_and_a_reboot)
        .case("what_is_gone_is_seen_also_if_all_are", what_is_gone_is_seen_also_if_all_are);
}

/// A condition's status and its transition time.
type Shown = (String, String);

fn through_a_restart_and_a_reboot() {
    let cluster = Cluster::start(Plan { workers: 1, controllers: 0, ..Plan::default() });
    cluster.install();
    // A check that has never looked has no condition yet.
    let before = until_within(SOON, "every check has looked", || {
        let seen = settled(&cluster)?;
        thread::sleep(Duration::from_secs(5));
        settled(&cluster).filter(|still| *still == seen)
    });
    for name in OF_CHECK_PROCESSES {
        assert_eq!(before.get(name).map(|shown| shown.0.as_str()), Some("False"), "{name} in {before:?}");
    }
    let worker = cluster.worker(NODE).unwrap();

    let seen = watched(&cluster, || {
        worker.inside().sh("systemctl restart nodewell");
        until_within(SOON, "every check has looked again", || settled(&cluster).filter(|after| *after == before));
    });
    for (name, shown) in &before {
        assert_eq!(seen.missing.get(name), None, "{name} left the Node at a restart");
        assert_eq!(seen.others.get(name), None, "{name} was {shown:?}");
    }

    let seen = watched(&cluster, || {
        worker.stop().unwrap();
        worker.on().unwrap();
        until_within(REBOOTED, "every check has looked after the boot", || {
            settled(&cluster).filter(|after| *after == before)
        });
    });
    assert_eq!(seen.missing, BTreeMap::new(), "conditions left the Node at a reboot");
}

/// What looks at the Node showed besides what was there before.
#[derive(Debug, Default)]
struct Seen {
    /// How often the API server answered.
    looks: u32,
    /// How often a condition was not there.
    missing: BTreeMap<String, u32>,
    /// Another status or transition time.
    others: BTreeMap<String, Shown>,
}

/// Looks at the Node again and again while `act` is done.
fn watched(cluster: &Cluster, act: impl FnOnce()) -> Seen {
    let before = conditions(cluster).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = Seen::default();
            while !is_over.load(Ordering::Relaxed) {
                if let Some(now) = conditions(cluster) {
                    seen.look(&before, &now);
                }
                thread::sleep(Duration::from_millis(50));
            }
            seen
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        is_over.store(true, Ordering::Relaxed);
        let seen = watcher.join().unwrap();
        if let Err(panic) = done {
            eprintln!("before: {before:?}\nseen since: {seen:?}");
            std::panic::resume_unwind(panic);
        }
        assert!(seen.looks > 0, "the Node was never seen meanwhile");
        seen
    })
}

impl Seen {
    fn look(&mut self, before: &BTreeMap<String, Shown>, now: &BTreeMap<String, Shown>) {
        self.looks += 1;
        for (name, shown) in before {
            match now.get(name) {
                None => *self.missing.entry(name.clone()).or_default() += 1,
                Some(other) if other != shown => drop(self.others.insert(name.clone(), other.clone())),
                Some(_) => {}
            }
        }
    }
}

/// The agent's conditions, once none is Unknown because something has not started.
fn settled(cluster: &Cluster) -> Option<BTreeMap<String, Shown>> {
    let node = cluster.api().node(NODE)?;
    let starts = |condition: &&Value| condition["reason"] == "MonitorStarting";
    let is_starting = node["status"]["conditions"].as_array()?.iter().any(|condition| starts(&condition));
    let all = conditions(cluster)?;
    let are_there = OF_CHECK_PROCESSES.iter().all(|name| all.contains_key(*name));
    (!is_starting && are_there).then_some(all)
}

/// `None` if the API server does not answer, or does not have the Node.
fn conditions(cluster: &Cluster) -> Option<BTreeMap<String, Shown>> {
    cluster.api().node(NODE).map(|node| ours(&node))
}

/// All but the kubelet's; of a Node without any, none.
fn ours(node: &Value) -> BTreeMap<String, Shown> {
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let all = node["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ours = all.iter().filter(|condition| !KUBELETS.contains(&condition["type"].as_str().unwrap_or_default()));
    let shown = |condition: &Value| (text(condition, "status"), text(condition, "lastTransitionTime"));
    ours.map(|condition| (text(condition, "type"), shown(condition))).collect()
}

fn what_is_gone_is_seen_also_if_all_are() {
    let shown = |name: &str, status: &str| json!({"type": name, "status": status, "lastTransitionTime": "2026-01-01"});
    let node = |conditions: Value| json!({"status": {"conditions": conditions}});
    let (disk, gpu, ready) = (shown("DiskUnhealthy", "False"), shown("GpuUnhealthy", "False"), shown("Ready", "True"));
    let before = ours(&node(json!([disk, gpu, ready])));
    assert_eq!(before.keys().collect::<Vec<_>>(), ["DiskUnhealthy", "GpuUnhealthy"]);
    let unknown = shown("GpuUnhealthy", "Unknown");
    let other = ("Unknown".to_owned(), "2026-01-01".to_owned());
    let gone = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 1)).collect::<BTreeMap<_, _>>();
    for (now, missing, others) in [
        (node(json!([disk, gpu, ready])), gone(&[]), BTreeMap::new()),
        (node(json!([disk, ready])), gone(&["GpuUnhealthy"]), BTreeMap::new()),
        (node(json!([ready])), gone(&["DiskUnhealthy", "GpuUnhealthy"]), BTreeMap::new()),
        (node(json!([])), gone(&["DiskUnhealthy", "GpuUnhealthy"]), BTreeMap::new()),
        (json!({"status": {}}), gone(&["DiskUnhealthy", "GpuUnhealthy"]), BTreeMap::new()),
        (node(json!([disk, unknown])), gone(&[]), BTreeMap::from([("GpuUnhealthy".to_owned(), other)])),
    ] {
        let mut seen = Seen::default();
        seen.look(&before, &ours(&now));
        assert_eq!((seen.looks, seen.missing, seen.others), (1, missing, others), "{now}");
    }
}
