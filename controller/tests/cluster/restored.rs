//! etcd restored from a backup under a controller's watches: its cache is the restored one, and follows it.

use std::{sync::Arc, time::Duration};

use nodewell_reconcile::{
    cache::{Cache, Limits},
    cluster::{Marks, Nodes, Records},
};
use nodewell_remediation::snapshot::Snapshot;

use crate::{
    cases::{cases, fence, make_node},
    server::{Server, clock},
};

cases![a_restored_etcd_is_followed,];

/// A restarted API server is busy at first, and a watch that hangs is given up after 90 s.
const FOLLOWED: Duration = Duration::from_secs(150);

async fn wait(cache: &Cache, what: &str, is_so: impl Fn(&Snapshot) -> bool) {
    let so = async {
        while !cache.with(|snapshot| is_so(snapshot)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let seen = || cache.with(|snapshot| format!("{:?} {:?}", snapshot.nodes, snapshot.fences));
    assert!(tokio::time::timeout(FOLLOWED, so).await.is_ok(), "not {what}: {}", seen());
}

/// The case has a server of its own: the others are not to be set back under their feet.
async fn a_restored_etcd_is_followed(_: Arc<Server>) {
    let mut server = crate::prepared();
    let uid = make_node(&server, "restored").await;
    server.back_up();
    let cluster = server.cluster("controller").await;
    let cache = Cache::new(clock(), Limits::default());
    let (wire, feed) = (cluster.wire().clone(), cache.clone());
    let watches = tokio::task::spawn_local(async move {
        nodewell_controller::watch::run(&wire, feed, clock(), "nodewell").await;
    });
    wait(&cache, "listed", |snapshot| snapshot.nodes.contains_key("restored")).await;
    cluster.open(&fence("restored")).await.unwrap();
    cluster.cordon("restored", &uid, "p").await.unwrap();
    // More than a starting API server writes itself: versions of the restored store are older for a while.
    for number in 0..200 {
        make_node(&server, &format!("lost-{number}")).await;
    }
    wait(&cache, "up to date", |snapshot| {
        snapshot.nodes.contains_key("lost-199")
            && snapshot.nodes["restored"].unschedulable
            && snapshot.fences.contains_key("restored")
    })
    .await;
    assert_eq!(cache.set_backs(), 0);

    server.restore();
    wait(&cache, "what the backup has", |snapshot| {
        snapshot.nodes.len() == 1 && !snapshot.nodes["restored"].unschedulable && snapshot.fences.is_empty()
    })
    .await;
    assert_eq!(cache.set_backs(), 1);
    wait(&cache, "whole again", |snapshot| snapshot.host.unread.is_none()).await;
    // Versions that were given before the restore are given again, and each change counts.
    let opened = cluster.open(&fence("restored")).await.unwrap();
    cluster.cordon("restored", &uid, "p").await.unwrap();
    wait(&cache, "the change after it", |snapshot| {
        snapshot.nodes["restored"].unschedulable
            && snapshot.fences.get("restored").is_some_and(|fence| fence.metadata.uid == opened.metadata.uid)
    })
    .await;
    assert!(cluster.node("restored").await.unwrap().unwrap().unschedulable);
    watches.abort();
}
