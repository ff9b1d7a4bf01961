//! The provider's plug-in, as a script.

use std::time::Duration;

use nodewell_power::provider::Provider;
use nodewell_remediation::action::Failed;

use super::{bench::Bench, fake::node};

async fn reap(script: &str) -> (Result<(), Failed>, Bench) {
    reap_within(script, 1, 60).await
}

/// The machine may take so many seconds to be gone, and the leader's time so many to be over.
async fn reap_within(script: &str, gone: u64, term: u64) -> (Result<(), Failed>, Bench) {
    let bench = Bench::new();
    bench.script("plugin", &format!("D=$(dirname $0); cat > $D/node; echo $1 >> $D/calls\n{script}"));
    let provider = Provider { path: bench.path().join("plugin"), gone_within: Duration::from_secs(gone) };
    let mut node = node("n1", "");
    node.provider_id = "aws:///zone/i-1".into();
    let done = provider.reap(&node, &bench.runner(), &bench.lease_deadline(term)).await;
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

/// After `reap` it reports what `after` prints.
fn reaping(after: &str) -> String {
    format!(
        "case $1 in type) echo aws; exit;; reap) touch $D/reaped; exit;; esac
        [ -e $D/reaped ] || {{ echo present; exit; }}
        echo >> $D/asked; times=$(wc -l < $D/asked)
        {after}"
    )
}

#[tokio::test]
async fn what_it_does_not_know_at_first_is_asked_again() {
    let after = "case $times in 1) echo present;; 2) echo who knows;; *) echo gone;; esac";
    let (done, bench) = reap_within(&reaping(after), 60, 60).await;
    assert_eq!(done, Ok(()));
    assert_eq!(bench.read("calls"), "type\nstatus\nreap\nstatus\nstatus\nstatus\n");
}

#[tokio::test]
async fn what_it_never_knows_is_in_doubt_after_its_time_and_after_the_leaders() {
    let riddle = reaping("echo who knows");
    let there = reaping("echo present");
    let ((never, _), (over, _)) = tokio::join!(reap_within(&riddle, 1, 60), reap_within(&there, 600, 8));
    assert!(
        matches!(&never, Err(Failed::InDoubt(why)) if why.contains("it has to print gone or present")),
        "{never:?}"
    );
    assert!(matches!(&over, Err(Failed::InDoubt(why)) if why.contains("the leader's time was over")), "{over:?}");
}

/// It was there and could be run, when it was asked before.
#[tokio::test]
async fn a_plugin_that_cannot_be_started_has_begun_nothing() {
    let script = "case $1 in type) echo aws; exit;; esac
        echo present; printf '#!/nonexistent/program\\n' > $0.new; chmod 755 $0.new; mv $0.new $0";
    let (done, bench) = reap(script).await;
    assert!(matches!(done, Err(Failed::NotBegun(_))), "{done:?}");
    assert_eq!(bench.read("calls"), "type\nstatus\n");
}

#[tokio::test]
async fn its_kind_is_one_word() {
    for (script, expected) in [
        ("echo aws", Some("aws")),
        ("printf '%5000s' aws", Some("aws")),
        ("true", None),
        ("echo a b", None),
        ("echo aws://", None),
        ("echo aws; exit 1", None),
    ] {
        let bench = Bench::new();
        bench.script("plugin", script);
        let provider = Provider { path: bench.path().join("plugin"), gone_within: Duration::from_secs(1) };
        let kind = provider.kind(&bench.runner()).await;
        match expected {
            Some(expected) => assert_eq!(kind.as_deref(), Ok(expected), "{script}"),
            None => assert!(kind.as_ref().is_err_and(|why| why.contains("print one word")), "{script}: {kind:?}"),
        }
    }
}
