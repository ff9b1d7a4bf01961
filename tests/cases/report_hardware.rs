//! Counts of devices: in the account, the table and the metrics, for as long as a daemon stands for them.

use nodewell_model::view::HardwareView;
use nodewell_tests::{agent::Agent, suite::Suite, wait::until};
use serde_json::{Value, json};

use crate::report_api::agent;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_hardware")
        .case("devices_are_shown_by_class", devices_are_shown_by_class)
        .case("facts_about_the_host_are_no_devices", facts_about_the_host_are_no_devices)
        .case("a_count_stands_while_its_daemon_is_silent", a_count_stands_while_its_daemon_is_silent)
        .case(
            "a_count_outlives_the_agent_and_goes_with_its_daemon",
            a_count_outlives_the_agent_and_goes_with_its_daemon,
        )
        .case("a_count_that_cannot_be_is_refused", a_count_that_cannot_be_is_refused);
}

fn post(agent: &Agent, body: &Value) -> (u16, Value) {
    let answer = agent.post("/v1/status", &body.to_string());
    (answer.code(), answer.json())
}

fn count(agent: &Agent, source: &str, hardware: Value) {
    let (code, answer) = post(agent, &json!({"source": source, "ttl": 60, "hardware": hardware}));
    assert_eq!(code, 200, "{answer}");
}

fn class(agent: &Agent, class: &str) -> Option<HardwareView> {
    agent.view().hardware.into_iter().find(|one| one.class == class)
}

fn devices_are_shown_by_class() {
    let agent = agent();
    assert!(!agent.nodewell(&["status"]).stdout.contains("Hardware:"), "no monitor counts");
    count(&agent, "disks", json!([{"class": "disks", "total": 4}]));
    count(&agent, "more-disks", json!([{"class": "disks", "total": 2, "states": {"failing": 1}}]));
    count(&agent, "gpus", json!([{"class": "GPUs", "total": 8, "states": {"lost": 1, "not answering": 2}}]));
    let table = agent.nodewell(&["status"]).stdout;
    let block = "\nHardware:\n  6 disks  1 failing, 5 ok\n  8 GPUs   1 lost, 2 not answering, 5 ok\n";
    assert!(table.contains(block), "{table}");
    let account: Value = serde_json::from_str(&agent.nodewell(&["status", "--json"]).stdout).unwrap();
    assert_eq!(
        account["hardware"],
        json!([{"class": "disks", "total": 6, "healthy": 5, "states": {"failing": 1}},
               {"class": "GPUs", "total": 8, "healthy": 5, "states": {"lost": 1, "not answering": 2}}])
    );
    let metrics = agent.metrics();
    for line in [
        "nodewell_devices{class=\"disks\",state=\"ok\"} 5",
        "nodewell_devices{class=\"disks\",state=\"failing\"} 1",
        "nodewell_devices{class=\"GPUs\",state=\"not answering\"} 2",
    ] {
        assert!(metrics.lines().any(|one| one == line), "no {line} in:\n{metrics}");
    }
    count(&agent, "gpus", json!([{"class": "GPUs", "total": 8}]));
    assert!(agent.nodewell(&["status", "--all"]).stdout.contains("\n  8 GPUs   ok\n"));
    let folded = agent.nodewell(&["status"]).stdout;
    assert!(folded.contains("8 GPUs (--all lists them)") && !folded.contains("8 GPUs   ok"), "{folded}");
    assert!(!agent.metrics().contains("class=\"GPUs\",state=\"lost\""));
}

fn facts_about_the_host_are_no_devices() {
    let agent = agent();
    let facts = json!([{"class": "reboots", "total": 1, "states": {"due": 1}, "informational": true}]);
    count(&agent, "limits", facts);
    let table = agent.nodewell(&["status"]).stdout;
    assert!(table.contains("\nHost: 1 reboot due\n") && !table.contains("Hardware:"), "{table}");
    let reboots = json!({"class": "reboots", "total": 1, "healthy": 0, "states": {"due": 1}, "informational": true});
    assert_eq!(agent.get("/v1/status").unwrap().json()["hardware"], json!([reboots]));
    assert!(!agent.metrics().contains("class=\"reboots\""));
}

fn a_count_stands_while_its_daemon_is_silent() {
    let agent = agent();
    let fleeting = json!({"source": "disks", "ttl": 1, "hardware": [{"class": "disks", "total": 4}]});
    assert_eq!(post(&agent, &fleeting).0, 200);
    let silent = || class(&agent, "disks").filter(|disks| disks.unconfirmed_since.is_some());
    let disks = until("the count is unconfirmed", silent);
    assert_eq!((disks.total, disks.healthy), (4, 4));
    let table = agent.nodewell(&["status"]).stdout;
    assert!(table.contains("\n  4 disks  ok  unconfirmed for "), "{table}");
    assert_eq!(post(&agent, &json!({"source": "disks", "ttl": 60})).0, 200);
    assert_eq!(class(&agent, "disks").unwrap().unconfirmed_since, None, "a sign of life confirms it");
}

fn a_count_outlives_the_agent_and_goes_with_its_daemon() {
    let mut agent = agent();
    count(&agent, "disks", json!([{"class": "disks", "total": 4, "states": {"failing": 1}}]));
    agent.restart();
    assert_eq!(class(&agent, "disks").map(|disks| (disks.total, disks.healthy)), Some((4, 3)));
    count(&agent, "disks", json!([]));
    assert_eq!(class(&agent, "disks"), None, "none are left");
    count(&agent, "disks", json!([{"class": "disks", "total": 4}]));
    assert_eq!(post(&agent, &json!({"source": "disks", "last": true})).0, 200);
    assert_eq!(class(&agent, "disks"), None);
}

fn a_count_that_cannot_be_is_refused() {
    let agent = agent();
    let many: Vec<Value> = (0..17).map(|n| json!({"class": format!("class {n}"), "total": 1})).collect();
    for (hardware, words) in [
        (json!([{"class": "disks", "total": 1, "states": {"lost": 2}}]), "field `hardware[0]` has 2 that are not well"),
        (json!([{"class": "disks", "total": 1, "states": {"ok": 1}}]), "counts those that are `ok`"),
        (
            json!([{"class": "disks", "total": 1}, {"class": "disks", "total": 1}]),
            "field `hardware[1]` counts \"disks\"",
        ),
        (json!([{"class": "a\nb", "total": 1}]), "takes names of 1 to 32 letters"),
        (json!([{"class": "disks", "total": -1}]), "field `hardware[0].total`"),
        (json!(many), "field `hardware` takes 16 classes, not 17"),
    ] {
        let (code, answer) = post(&agent, &json!({"source": "disks", "hardware": hardware}));
        let error = answer["error"].as_str().unwrap();
        assert!(code == 400 && error.contains(words), "{code} {words}: {error}");
    }
    assert!(agent.view().hardware.is_empty());
}
