//! What this host can reach, and whether a kill switch is set.

use std::{collections::BTreeSet, time::Duration};

use nodewell_reconcile::{cache::Cache, cluster::Configuration, reach::Prober};
use nodewell_remediation::facts::Node;
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

/// Where kubelets listen that do not report a port.
const KUBELET: u16 = 10250;
/// One retransmission of a SYN fits.
const CONNECT: Duration = Duration::from_millis(1500);
const PROBES_APART: Duration = Duration::from_secs(5);
/// IntendedOp acts read it again right before; between them this is how late the rest hears.
const SWITCH_APART: Duration = Duration::from_secs(2);

/// Tries a node by a connection to its kubelet. Refused is answered: a kernel is alive there.
#[derive(Debug)]
pub(super) struct Kubelets;

impl Prober for Kubelets {
    async fn reaches(&self, node: &Node) -> bool {
        for address in node.addresses.iter().take(2) {
            if answers(&(address.as_str(), node.kubelet_port.unwrap_or(KUBELET))).await {
                return true;
            }
        }
        false
    }
}

async fn answers<A: tokio::net::ToSocketAddrs>(address: &A) -> bool {
    match timeout(CONNECT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Err(_) => false,
    }
}

/// Tries the configured addresses that this host must be able to reach; never returns.
pub(super) async fn probe(addresses: &[String], cache: &Cache) {
    let mut missed = BTreeSet::new();
    loop {
        let unreachable = unreachable(addresses, &mut missed).await;
        let before = cache.with(|snapshot| snapshot.host.unreachable.clone());
        if before != unreachable {
            tracing::warn!(unreachable = ?unreachable, "what this host can reach has changed");
        }
        cache.set_host(|host| host.unreachable = unreachable);
        sleep(PROBES_APART).await;
    }
}

/// Those that did not answer twice in a row: all remediation stops for the cooldown of a storm where one is lost, and one
/// packet may be. Never asked, an address counts as reached.
async fn unreachable(addresses: &[String], missed: &mut BTreeSet<String>) -> Vec<String> {
    let before = std::mem::take(missed);
    for address in addresses {
        if !answers(address).await {
            missed.insert(address.clone());
        }
    }
    before.intersection(missed).cloned().collect()
}

/// Updates the kill switch in the cache; never returns. What cannot be read stops.
pub(super) async fn watch_switch<C: Configuration>(cluster: &C, cache: &Cache) {
    let mut last = None;
    loop {
        let unread = |error| Some(format!("the kill switch cannot be read: {error}"));
        let stopped = cluster.stopped().await.unwrap_or_else(unread);
        if stopped != last {
            match &stopped {
                Some(why) => tracing::warn!(why, "a kill switch is set: nothing is begun"),
                None => tracing::info!("no kill switch is set any more"),
            }
            last.clone_from(&stopped);
        }
        cache.set_stopped(stopped);
        sleep(SWITCH_APART).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_kubelet_is_tried_at_the_address_that_its_node_reports() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let raw = serde_json::json!({ "metadata": { "name": "n", "uid": "u" }, "status": {
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": port } } } });
        let raw = serde_json::from_value(raw).unwrap();
        let node = crate::kube::convert::node(raw, nodewell_remediation::time::Moment::default()).unwrap();
        let (reached, came) = tokio::join!(Kubelets.reaches(&node), timeout(CONNECT, listener.accept()));
        assert!(reached && came.is_ok_and(|came| came.is_ok()), "nothing connected to {port}");
    }

    #[tokio::test]
    async fn an_address_that_is_missed_twice_in_a_row_is_unreachable_until_it_answers() {
        let there = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = there.local_addr().unwrap().to_string();
        let gone = "no.such.host.invalid:1".to_owned();
        let mut missed = BTreeSet::new();
        assert!(unreachable(&[there.clone(), gone.clone()], &mut missed).await.is_empty());
        for _ in 0..2 {
            let found = unreachable(&[there.clone(), gone.clone()], &mut missed).await;
            assert_eq!(found, std::slice::from_ref(&gone));
        }
        assert!(unreachable(std::slice::from_ref(&there), &mut missed).await.is_empty());
        assert!(unreachable(&[there, gone], &mut missed).await.is_empty(), "not in a row");
    }

    #[tokio::test]
    async fn a_refused_connection_is_an_answer() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        assert!(answers(&address).await);
        drop(listener);
        assert!(answers(&address).await);
        assert!(!answers(&"no.such.host.invalid:1").await);
    }
}
