//! Watches over a server that answers and holds no connection open.

mod pause;
mod restored;

use std::{
    cell::RefCell,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper::{Request, Response};
use jiff::Timestamp;
use kube::{Client, client::Body};
use nodewell_reconcile::cache::{Cache, Limits};

use super::*;

const LIST: &str = r#"{"kind":"List","metadata":{"resourceVersion":"7"},"items":[]}"#;

/// Every list is empty, and every watch sends this and ends; how often one was opened.
fn server(watch: &'static str) -> (Wire, Arc<AtomicUsize>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        count.fetch_add(usize::from(is_watch), Ordering::Relaxed);
        let text = if is_watch { watch } else { LIST };
        std::future::ready(Ok::<_, Infallible>(Response::new(Body::from(text.as_bytes().to_vec()))))
    });
    (Wire::new(Client::new(service, "default"), Duration::from_secs(5)), opened)
}

/// The watches opened in 2 s, and whether the source is believed afterwards.
async fn after_two_seconds(watch: &'static str) -> (usize, bool) {
    let (wire, opened) = server(watch);
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    for source in [Source::KubeletLeases, Source::Fences, Source::Policies] {
        cache.listed(source, &BTreeSet::new());
    }
    let way = Way { wire: &wire, silence: RefCell::default() };
    tokio::select! {
        () = follow(&way, cache.clone(), "/api/v1/nodes".to_owned(), Nodes::new(cache.clone(), clock)) => {}
        () = sleep(Duration::from_millis(1900)) => {}
    }
    (opened.load(Ordering::Relaxed), cache.with(|snapshot| snapshot.host.synced))
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_opened_a_few_times_and_then_not_believed() {
    let (opened, synced) = after_two_seconds("").await;
    assert!((2..=5).contains(&opened), "{opened}");
    assert!(!synced);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_forgets_at_once_is_not_listed_all_the_time() {
    let (opened, _) = after_two_seconds("{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n").await;
    assert!((2..=5).contains(&opened), "{opened}");
}

/// Since when nodes are known to shut down, by the annotation of a Lease of this kind.
fn shutdowns(kind: LeaseKind, boot_id: &str) -> usize {
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let node = serde_json::json!({
        "metadata": { "name": "n1", "uid": "u" }, "status": { "nodeInfo": {
            "bootID": "boot-1", "machineID": "", "systemUUID": "", "kernelVersion": "", "osImage": "",
            "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "", "operatingSystem": "",
            "architecture": "" } } });
    Nodes::new(cache.clone(), clock).apply(serde_json::from_value(node).unwrap(), true);
    let lease = serde_json::json!({
        "metadata": { "name": "n1", "annotations": { "nodewell.dev/shutdown": boot_id } }, "spec": {} });
    Leases::new(cache.clone(), clock, kind).apply(serde_json::from_value(lease).unwrap(), false);
    cache.with(|snapshot| snapshot.shutdowns.len())
}

#[test]
fn an_agent_announces_the_end_of_the_boot_that_its_lease_names() {
    assert_eq!(shutdowns(LeaseKind::Agent, "boot-1"), 1);
    assert_eq!(shutdowns(LeaseKind::Agent, "boot-0"), 0, "of a boot before");
    assert_eq!(shutdowns(LeaseKind::Kubelet, "boot-1"), 0, "it is the agent's to write");
}
