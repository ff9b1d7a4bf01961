//! A deleted Node is a release too: its pods are forced away, whatever deleted it and whatever its machine does.

use std::{sync::Arc, time::Instant};

use nodewell_reconcile::cluster::Pods;
use serde_json::json;

use crate::{
    cases::{cases, make_node},
    out_of_service::leave,
    server::Server,
    workload::{StandIn, Story},
};

cases![pods_of_a_deleted_node_are_forced_away_after_its_quarantine];

/// `quarantineTime` of the pod garbage collector.
const QUARANTINE_SECS: f64 = 40.0;
/// It notices at its next look, and acts at one after the quarantine: 20 s each, and some more on a loaded machine.
const AT_MOST_SECS: f64 = QUARANTINE_SECS + 20.0 + 20.0 + 15.0;

async fn pods_of_a_deleted_node_are_forced_away_after_its_quarantine(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let deleted = StandIn::start(&server, "orphaning").await;
    let reborn = StandIn::start(&server, "orphaning-reborn").await;
    let (orphan, kept) = (deleted.run_pod("orphan", json!({})).await, reborn.run_pod("kept", json!({})).await);
    let story = Story::of(&server, &deleted.name).await;
    let at = Instant::now();
    for node in [&deleted, &reborn] {
        assert!(server.kubectl(&["delete", "node", &node.name]));
    }
    // Another Node of the name, as a kubelet registers again, is taken for the same.
    make_node(&server, &reborn.name).await;
    let gone = story.until_gone(&orphan).await;
    let after = gone.at.duration_since(at).as_secs_f64();
    eprintln!("    forced away {after:.2} s after its Node was deleted, with 600 s of grace and no request to end");
    assert!((QUARANTINE_SECS..AT_MOST_SECS).contains(&after), "{after} s");
    assert_eq!(gone.disruption().as_deref(), Some("DeletionByPodGC"));
    assert!(cluster.pod(&kept).await.unwrap().is_some(), "another Node of its name is there");
    leave(&server, &[], &[&reborn]);
}
