//! The provider's plug-in, as a script.

use std::time::Duration;

use nodewell_power::provider::Provider;
use nodewell_remediation::action::Failed;

use super::{bench::Bench, fake::node};

async fn reap(script: &str) -> (Result<(), Failed>, Bench) {
    let bench = Bench::new();
    bench.script("plugin", &format!("D=$(dirname $0); cat > $D/node; echo $1 >> $D/calls\n{script}"));
    let provider = Provider { path: bench.path().join("plugin"), gone_within: Duration::from_secs(1) };
    let mut node = node("n1", "");
    node.provider_id = "aws:///zone/i-1".into();
    let done = provider.reap(&node, &bench.runner(), &bench.lease_deadline(60)).await;
    (done, bench)
}

#[tokio::test]
async fn it_is_done_only_once_the_machine_is_known_to_be_gone() {
    let script = "case $1 in type) echo aws;; reap) touch $D/reaped;; status) [ -e $D/reaped ] && echo gone || echo present;; esac";
    let (done, bench) = reap(script).await;
    assert_eq!(done, Ok(()));
    assert_eq!(bench.read("calls"), "type\nstatus\nreap\nstatus\n");
    let node: serde_json::Value = serde_json::from_str(&bench.read("node")).unwrap();
    assert_eq!((&node["spec"]["providerID"], &node["metadata"]["name"]), (&"aws:///zone/i-1".into(), &"n1".into()));
}

#[tokio::test]
async fn one_that_is_gone_already_is_not_asked_for() {
    let (done, bench) = reap("case $1 in type) echo aws;; status) echo gone;; esac").await;
    assert_eq!((done, bench.read("calls").as_str()), (Ok(()), "type\nstatus\n"));
}

#[tokio::test]
async fn another_providers_plugin_is_not_asked() {
    let (done, bench) = reap("case $1 in type) echo gce;; status) echo gone;; esac").await;
    assert!(matches!(done, Err(Failed::NotBegun(_))), "{done:?}");
    assert_eq!(bench.read("calls"), "type\n");
}

#[tokio::test]
async fn its_refusals_lies_and_riddles_are_no_success() {
    let (done, _) = reap("case $1 in type) echo aws;; status) echo present;; reap) echo no >&2; exit 1;; esac").await;
    assert!(matches!(&done, Err(Failed::Refused(why)) if why.contains("no")), "{done:?}");
    let (done, _) = reap("case $1 in type) echo aws;; status) echo present;; esac").await;
    assert!(matches!(done, Err(Failed::Timeout(_))), "{done:?}");
    let (done, bench) = reap("case $1 in type) echo aws;; status) echo who knows;; esac").await;
    assert!(matches!(done, Err(Failed::NotBegun(_))), "{done:?}");
    assert_eq!(bench.read("calls"), "type\nstatus\n");
}
