//! etcd's members and their health, asked of etcd itself. What cannot be asked is unknown, and then no control-plane node
//! is touched.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use futures_util::future::{join_all, try_join_all};
use kube::config::{KubeConfigOptions, Kubeconfig};
use nodewell_reconcile::cache::Cache;
use nodewell_remediation::snapshot::Quorum;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    config::Etcd,
    kube::{Requests, Wire, client},
};

/// With the time for an answer it is less than the shortest silence after which a node may be fenced: a member that fell
/// together with the node is known by then.
const APART: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(3);

/// What one healthy member reports.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MemberAnswer {
    cluster: String,
    /// Which member it is.
    member: String,
    /// Members that vote, started or not.
    voters: BTreeSet<String>,
    /// At which addresses each of them stands, as its URLs have it.
    addresses: BTreeMap<String, BTreeSet<String>>,
}

/// Addresses of one member alone, and whether that one is healthy.
type AddressHealth = BTreeMap<String, bool>;

/// Updates the quorum in the cache; never returns.
pub(super) async fn ask(etcd: Option<&Etcd>, cache: &Cache) {
    let Some(etcd) = etcd else { return std::future::pending().await };
    let mut last = None;
    loop {
        let answer = quorum(etcd).await;
        let (quorum, places) = answer.clone().unwrap_or((Quorum::Unknown, AddressHealth::new()));
        if last.as_ref() != Some(&answer) {
            match &answer {
                Ok((quorum, places)) => tracing::info!(?quorum, ?places, "etcd"),
                Err(why) => tracing::warn!(why, "etcd's quorum is not known; no control-plane node is touched"),
            }
            last = Some(answer);
        }
        cache.set_etcd(quorum, places);
        sleep(APART).await;
    }
}

/// All at once: members that hang must not add up.
async fn quorum(etcd: &Etcd) -> Result<(Quorum, AddressHealth), String> {
    let wires: Vec<Wire> = try_join_all(etcd.endpoints.iter().map(|endpoint| wire(etcd, endpoint))).await?;
    let answers: Vec<MemberAnswer> = join_all(wires.iter().map(in_time)).await.into_iter().flatten().collect();
    Ok((judge(&answers)?, address_health(&answers)))
}

/// Two endpoints may be one member, and a member that does not vote is no help to the quorum.
fn judge(answers: &[MemberAnswer]) -> Result<Quorum, String> {
    let Some(first) = answers.first() else { return Err("no member reports which members there are".to_owned()) };
    if answers.iter().any(|answer| (&answer.cluster, &answer.voters) != (&first.cluster, &first.voters)) {
        return Err("its endpoints do not agree which members there are".to_owned());
    }
    let healthy: BTreeSet<&String> = answers.iter().map(|answer| &answer.member).collect();
    let healthy = healthy.into_iter().filter(|member| first.voters.contains(*member)).count();
    Ok(Quorum::Members { healthy, total: first.voters.len() })
}

/// Where members stand: a node that has the address of one alone is that one's.
fn address_health(answers: &[MemberAnswer]) -> AddressHealth {
    let mut by_address: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (member, addresses) in answers.iter().flat_map(|answer| &answer.addresses) {
        for address in addresses {
            by_address.entry(address).or_default().insert(member);
        }
    }
    let is_healthy = |member: &String| answers.iter().any(|answer| answer.member == *member);
    let alone = by_address.into_iter().filter(|(_, members)| members.len() == 1);
    alone.map(|(address, members)| (address.clone(), members.into_iter().any(is_healthy))).collect()
}

/// The host of a URL. An address that every host has names none.
fn host_of(url: &str) -> Option<String> {
    let url: hyper::Uri = url.parse().ok()?;
    let host = url.host()?.trim_matches(['[', ']']).to_ascii_lowercase();
    let is_any_hosts = host.parse().map_or(host == "localhost", |ip: IpAddr| ip.is_loopback() || ip.is_unspecified());
    (!is_any_hosts).then_some(host)
}

fn addresses_of(member: &Value) -> BTreeSet<String> {
    let urls = ["peerURLs", "clientURLs"].into_iter().filter_map(|key| member[key].as_array()).flatten();
    urls.filter_map(Value::as_str).filter_map(host_of).collect()
}

async fn in_time(wire: &Wire) -> Option<MemberAnswer> {
    timeout(ANSWER, answer(wire)).await.ok().flatten()
}

/// `/health` of a member asks for a linearizable read: it is healthy only with a quorum. The rest is by etcd's JSON gateway.
async fn answer(wire: &Wire) -> Option<MemberAnswer> {
    let health: Value = wire.plain("/health", None).await.ok()?;
    if health["health"] != "true" {
        return None;
    }
    let list: Value = wire.plain("/v3/cluster/member/list", Some(&json!({}))).await.ok()?;
    let id = |value: &Value| value.as_str().map(str::to_owned);
    let votes = |member: &&Value| member["isLearner"] != true;
    let voters = || list["members"].as_array().into_iter().flatten().filter(votes);
    let addresses = voters().filter_map(|member| Some((id(&member["ID"])?, addresses_of(member))));
    let header = &list["header"];
    Some(MemberAnswer {
        cluster: id(&header["cluster_id"])?,
        member: id(&header["member_id"])?,
        voters: voters().map(|member| id(&member["ID"])).collect::<Option<_>>()?,
        addresses: addresses.collect(),
    })
}

/// Files are read again each time: certificates are renewed.
async fn wire(etcd: &Etcd, endpoint: &str) -> Result<Wire, String> {
    let kubeconfig = json!({
        "current-context": "etcd",
        "clusters": [{ "name": "etcd", "cluster": { "server": endpoint, "certificate-authority": etcd.ca } }],
        "users": [{ "name": "etcd", "user": { "client-certificate": etcd.cert, "client-key": etcd.key } }],
        "contexts": [{ "name": "etcd", "context": { "cluster": "etcd", "user": "etcd" } }],
    });
    let message = |error: &dyn std::error::Error| format!("{endpoint}: {error}");
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).map_err(|error| message(&error))?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| message(&error))?;
    let client = client(config, Arc::new(Requests::default())).map_err(|error| message(&error))?;
    Ok(Wire::new(client, ANSWER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(member: &str, voters: &[&str]) -> MemberAnswer {
        let voters = voters.iter().map(|voter| (*voter).to_owned()).collect();
        MemberAnswer { cluster: "1".to_owned(), member: member.to_owned(), voters, addresses: BTreeMap::new() }
    }

    #[test]
    fn a_member_is_known_by_an_address_that_no_other_has() {
        let stands = |member: &str, at: &[&str]| {
            (member.to_owned(), addresses_of(&json!({ "peerURLs": at, "clientURLs": ["https://127.0.0.1:2379"] })))
        };
        let addresses_now = || {
            BTreeMap::from([
                stands("a", &["https://10.0.0.1:2380", "https://shared.example.com:2380"]),
                stands("b", &["https://[fd00::2]:2380", "https://shared.example.com:2381"]),
                stands("c", &["https://10.0.0.3:2380", "http://localhost:2380"]),
            ])
        };
        let answer_of = |member: &str| MemberAnswer { addresses: addresses_now(), ..answer(member, &["a", "b", "c"]) };
        let expected = [("10.0.0.1", true), ("10.0.0.3", false), ("fd00::2", true)];
        let expected = expected.map(|(address, healthy)| (address.to_owned(), healthy));
        assert_eq!(address_health(&[answer_of("a"), answer_of("b")]), AddressHealth::from(expected));
    }

    #[test]
    fn two_names_of_one_member_are_one_member() {
        let answers = [answer("a", &["a", "b", "c"]), answer("a", &["a", "b", "c"]), answer("b", &["a", "b", "c"])];
        assert_eq!(judge(&answers), Ok(Quorum::Members { healthy: 2, total: 3 }));
    }

    #[test]
    fn who_does_not_vote_is_not_counted() {
        let answers = [answer("a", &["a"]), answer("learner", &["a"])];
        assert_eq!(judge(&answers), Ok(Quorum::Members { healthy: 1, total: 1 }));
    }

    #[test]
    fn endpoints_of_two_clusters_or_of_none_are_an_error() {
        let other = MemberAnswer { cluster: "2".to_owned(), ..answer("a", &["a"]) };
        assert!(judge(&[answer("a", &["a"]), other]).is_err());
        assert!(judge(&[answer("a", &["a"]), answer("b", &["a", "b"])]).is_err());
        assert!(judge(&[]).is_err());
    }
}
