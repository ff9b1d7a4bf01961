//! A pod whose volume can be attached to one node. Once its node is fenced, and not before, the volume is detached by
//! force and attached where the pod starts next. Where the storage does not detach it, the record reports what to do,
//! the out-of-service taint stays, and the pod waits until it does.

use std::{fs, path::PathBuf, time::Duration};

use jiff::{SignedDuration, Timestamp};
use nodewell_cluster::{
    CLUSTER, Cluster, Plan,
    attacher::{Act, Attacher},
    manifests::{DEAD_NODES, LEDGER},
    shop::uptime,
    worker::Worker,
};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{lasts, until_within},
};
use serde_json::Value;

use crate::{cable_pulled::ordered_off, off_before_release::assert_off_before_release};

const SOON: Duration = Duration::from_secs(60);
/// Silence of a Lease, two readings of the power, a release; a volume is detached, attached and mounted.
const FENCED: Duration = Duration::from_secs(180);
/// Without the out-of-service taint the attach-detach controller waits for an unmount for six minutes.
const DETACHED: SignedDuration = SignedDuration::from_secs(60);
/// Volumes are reported two minutes after the release.
const STUCK: Duration = Duration::from_secs(240);
/// The attach-detach controller and the kubelet ask again after up to two minutes each.
const ASKED_AGAIN: Duration = Duration::from_secs(300);
/// More than twice what a node has to be well for before it is given back: `healthyDelay` of the policy.
const WELL: Duration = Duration::from_secs(12);
const POD: &str = "ledger-0";
const VOLUME: &str = "ledger";
const NODE: &str = "w2";
const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("attached_volumes")
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "one_is_attached_elsewhere_after_the_release",
            one_is_attached_elsewhere_after_the_release,
        )
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "one_that_stays_is_reported_and_keeps_the_taint",
            one_that_stays_is_reported_and_keeps_the_taint,
        );
}

fn one_is_attached_elsewhere_after_the_release() {
    let cluster = Cluster::start(Plan::default());
    let ledger = Ledger::open(&cluster);
    let worker = cluster.worker(NODE).unwrap();

    worker.off();
    let off_since = Timestamp::now();
    let next = ledger.ready_elsewhere(FENCED);
    ledger.assert_moved_to(&next);
    turned_on(worker);
    let released_at = assert_off_before_release(&cluster, worker, off_since);
    let detached_at = ledger.detached_after(released_at);
    assert!(detached_at < released_at + DETACHED, "released at {released_at}, and detached at {detached_at}");
    let by = ["out-of-service", "timeout"].map(|reason| cluster.forced_detaches(reason));
    assert!(by[0] >= 1.0 && by[1] == 0.0, "forced detaches by the taint and by time: {by:?}");

    cluster.api().wait_condition(FENCED, NODE, "Ready", "True");
    cluster.api().wait_given_back(FENCED, NODE);
    ledger.assert_moved_to(&next);
}

fn one_that_stays_is_reported_and_keeps_the_taint() {
    let cluster = Cluster::start(Plan::default());
    let ledger = Ledger::open(&cluster);
    let worker = cluster.worker(NODE).unwrap();
    ledger.attacher.hang(NODE);

    // Cut off, it writes on.
    worker.cut();
    let cut_at = uptime(&fs::read_to_string("/proc/uptime").unwrap()).unwrap();
    turned_on(worker);
    let released_at = assert_off_before_release(&cluster, worker, ordered_off(worker));
    worker.join();
    let report = until_within(STUCK, "nothing but the attachment keeps the node", || ledger.stuck());
    let attachment = ledger.attachment().expect("it is attached to the node");
    let name = attachment["metadata"]["name"].as_str().unwrap();
    assert!(!attachment["metadata"]["deletionTimestamp"].is_null(), "nothing has asked to detach it: {attachment}");
    // What the message and docs/runbook.md have a person look at.
    assert!(report.contains(name) && report.contains("kubectl describe volumeattachment"), "{report}");
    let described = cluster.must_kubectl(&["describe", "volumeattachment", name]);
    assert!(described.contains("cannot be detached from w2"), "{described}");
    lasts(WELL, "the node is well, its taint stays, and the pod waits", || {
        let is_well = cluster.api().condition(NODE, "Ready").as_deref() == Some("True");
        is_well && is_out_of_service(&cluster) && cluster.api().ready_on(POD).is_none()
    });

    ledger.attacher.recover();
    let next = ledger.ready_elsewhere(ASKED_AGAIN);
    cluster.api().wait_given_back(FENCED, NODE);
    ledger.assert_moved_to(&next);
    ledger.detached_after(released_at);
    // After a detach that failed the attach-detach controller attaches to the next node: only the storage refuses.
    let asked = ledger.attacher.history(VOLUME)[1].clone();
    assert_eq!((asked.act, asked.node), (Act::Refused, next));
    let last_of_old = ledger.lines().into_iter().rfind(|line| line.node == NODE).unwrap().at;
    assert!(last_of_old > cut_at, "it wrote on after it was cut off at {cut_at}, and last at {last_of_old}");
}

/// A line that a pod has written: by its node, and for how many hundredths of a second the kernel had run.
struct Line {
    node: String,
    at: u64,
}

/// The pod with its volume.
struct Ledger<'a> {
    cluster: &'a Cluster,
    attacher: Attacher,
    /// Its volume, on this machine.
    folder: PathBuf,
}

impl<'a> Ledger<'a> {
    /// It writes on the node that is to fail.
    fn open(cluster: &'a Cluster) -> Self {
        cluster.install();
        let attacher = cluster.install_volumes();
        let folder = cluster.make_volume(VOLUME);
        [LEDGER, DEAD_NODES].iter().for_each(|text| cluster.apply_text(text));
        cluster.wait_until_fences_are_ready();
        until_within(SOON, "the pod is ready", || (cluster.api().ready_on(POD)? == NODE).then_some(()));
        Self { cluster, attacher, folder }
    }

    /// The other node on which the pod is ready: it has written there.
    fn ready_elsewhere(&self, patience: Duration) -> String {
        until_within(patience, "the pod is ready elsewhere", || {
            self.cluster.api().ready_on(POD).filter(|node| node != NODE)
        })
    }

    /// One node had the volume, and wrote to it, after the other.
    #[track_caller]
    fn assert_moved_to(&self, next: &str) {
        let history = self.attacher.history(VOLUME);
        let moves = history.iter().filter(|change| change.act != Act::Refused);
        let acts: Vec<(Act, &str)> = moves.map(|change| (change.act, change.node.as_str())).collect();
        assert_eq!(acts, [(Act::Attached, NODE), (Act::Detached, NODE), (Act::Attached, next)], "{history:?}");
        let lines = self.lines();
        assert!(lines.is_sorted_by_key(|line| line.at), "lines of the past among those of the present");
        let mut writers: Vec<&str> = lines.iter().map(|line| line.node.as_str()).collect();
        writers.dedup();
        assert_eq!(writers, [NODE, next], "who wrote, in the order of the file");
    }

    /// When it was detached. Before the release nothing but the first node had asked for it.
    #[track_caller]
    fn detached_after(&self, released_at: Timestamp) -> Timestamp {
        let history = self.attacher.history(VOLUME);
        let is_after = history[1..].iter().all(|change| change.at >= released_at);
        assert!(is_after, "asked for before the release at {released_at}: {history:?}");
        history.iter().find(|change| change.act == Act::Detached).expect("it is detached").at
    }

    fn lines(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.folder.join("lines")).unwrap();
        let parse = |line: &str| {
            let (node, at) = line.split_once(' ').unwrap_or_else(|| panic!("half a line: {line:?}"));
            Line { node: node.to_owned(), at: uptime(at).unwrap() }
        };
        text.lines().map(parse).collect()
    }

    /// What the record reports of the attachment, once the node is back and nothing else keeps its taint.
    fn stuck(&self) -> Option<String> {
        let record = self.cluster.api().record(NODE)?;
        let [blocker] = record["status"]["blockedBy"].as_array()?.as_slice() else { return None };
        let is_stuck = record["status"]["phase"] == "Recovering" && blocker["reason"] == "AttachmentsStuck";
        is_stuck.then(|| blocker["message"].as_str().map(str::to_owned))?
    }

    /// The VolumeAttachment of the node.
    fn attachment(&self) -> Option<Value> {
        let all = self.cluster.api().get(ATTACHMENTS)?;
        all["items"].as_array()?.iter().find(|one| one["spec"]["nodeName"] == NODE).cloned()
    }
}

fn turned_on(worker: &Worker) {
    until_within(FENCED, "its BMC turned it on", || {
        let is_ordered = worker.orders().iter().any(|order| order.text == "set power 1");
        (is_ordered && worker.is_on()).then_some(())
    });
}

fn is_out_of_service(cluster: &Cluster) -> bool {
    let node = cluster.api().node(NODE).unwrap_or_default();
    let taints = node["spec"]["taints"].as_array();
    taints.into_iter().flatten().any(|taint| taint["key"] == "node.kubernetes.io/out-of-service")
}
