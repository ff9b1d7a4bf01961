//! Alerts of many nodes at once: 500 that die are three pages at most, by the rules and by a real Alertmanager.

use std::{
    collections::BTreeSet,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    slice,
    time::Duration,
};

use nodewell_tests::{
    agent::Plan,
    alertmanager::{self, Alertmanager},
    prometheus::{self, Prometheus, promtool},
    suite::{Need, Suite},
    wait::{lasts, until},
    webhook::Webhook,
};
use serde_json::Value;

const NEEDS: &[Need] = &[Need::Other(prometheus::unmet)];
const ALERTMANAGER: &[Need] = &[Need::Other(prometheus::unmet), Need::Other(alertmanager::unmet)];
const LONG_ALERTMANAGER: &[Need] = &[Need::LongSuite, Need::Other(prometheus::unmet), Need::Other(alertmanager::unmet)];
/// What docs/alerts.md promises.
const MOST_PAGES: usize = 3;
const RULES: [&str; 3] = ["nodewell-rules.yaml", "nodewell-fleet-rules.yaml", "nodewell-controller-rules.yaml"];

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("alerts")
        .case_with(ALERTMANAGER, "a_dead_zone_is_three_notifications", a_dead_zone_is_three_notifications)
        .case_with(LONG_ALERTMANAGER, "dead_racks_are_three_notifications", dead_racks_are_three_notifications)
        .case_with(
            LONG_ALERTMANAGER,
            "dead_nodes_here_and_there_are_three_notifications",
            dead_nodes_here_and_there_are_three_notifications,
        )
        .case_with(ALERTMANAGER, "the_example_of_alertmanager_is_taken", the_example_of_alertmanager_is_taken)
        .case_with(NEEDS, "the_example_of_prometheus_is_taken", the_example_of_prometheus_is_taken)
        .case_with(NEEDS, "fleet_alerts_fire_when_they_should", fleet_alerts_fire_when_they_should)
        .case_with(NEEDS, "a_dead_zone_is_one_alert_of_its_nodes", a_dead_zone_is_one_alert_of_its_nodes)
        .case_with(NEEDS, "dead_nodes_here_and_there_are_one_ticket", dead_nodes_here_and_there_are_one_ticket);
}

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/prometheus").join(name)
}

fn fleet_alerts_fire_when_they_should() {
    let checked = promtool(&["check", "rules", &packaged(RULES[1]).display().to_string()], "");
    assert!(checked.content && checked.output.contains("SUCCESS"), "{}", checked.output);
    let tests = packaged("nodewell-fleet-rules.test.yaml");
    let tested = promtool(&["test", "rules", &tests.display().to_string()], "");
    assert!(tested.content && tested.output.contains("SUCCESS"), "{}", tested.output);
}

/// A node of the test's fleet, and whether it is one of the 500 that die.
struct FleetNode {
    labels: String,
    dies: bool,
}

/// 1,500 nodes in three zones of 25 racks with 20 nodes each.
fn fleet(dies: impl Fn(usize, usize) -> bool) -> Vec<FleetNode> {
    let node = |number: usize| {
        let (zone, rack) = (number / 500, number / 20);
        let place = format!("cluster=\"east\",zone=\"z{zone}\",rack=\"r{rack}\"");
        let labels = format!("job=\"nodewell\",{place},node=\"n{number}\",instance=\"n{number}\"");
        FleetNode { labels, dies: dies(zone, number) }
    };
    let nodes: Vec<FleetNode> = (0..1500).map(node).collect();
    assert_eq!(nodes.iter().filter(|node| node.dies).count(), 500);
    nodes
}

/// It answers all the time.
const CONTROLLER: &str = "up{job=\"nodewell-controller\",cluster=\"east\",instance=\"c1\"}";
/// What it shows when they have died: too many at once, and most of the dead wait for that reason.
const OF_THE_CONTROLLER: [(&str, u32); 3] = [
    ("nodewell_controller_storm{cluster=\"east\",instance=\"c1\"}", 1),
    ("nodewell_controller_stranded_nodes{cluster=\"east\",instance=\"c1\",reason=\"Storm\"}", 480),
    ("nodewell_controller_stranded_nodes{cluster=\"east\",instance=\"c1\",reason=\"PowerUnknown\"}", 20),
];

/// promtool on 500 nodes that die after 5 minutes: each query has its value 27 minutes later.
fn judge(nodes: &[FleetNode], queries: &[(&str, usize)]) {
    let mut test = String::from("rule_files:\n");
    for rules in RULES {
        writeln!(test, "- {:?}", packaged(rules).display().to_string()).unwrap();
    }
    test.push_str("evaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n");
    for node in nodes {
        let values = if node.dies { "1x4 0x30" } else { "1x35" };
        writeln!(test, "  - {{ series: 'up{{{}}}', values: {values:?} }}", node.labels).unwrap();
    }
    writeln!(test, "  - {{ series: '{CONTROLLER}', values: \"1x35\" }}").unwrap();
    for (series, value) in OF_THE_CONTROLLER {
        writeln!(test, "  - {{ series: '{series}', values: \"_x5 {value}x30\" }}").unwrap();
    }
    test.push_str("  promql_expr_test:\n");
    for (expression, value) in queries {
        let samples = if *value == 0 { String::new() } else { format!("{{ labels: \"{{}}\", value: {value} }}") };
        writeln!(test, "  - {{ expr: '{expression}', eval_time: 32m, exp_samples: [{samples}] }}").unwrap();
    }
    let plan = Plan::default();
    let file = plan.file("fleet.test.yaml", &test);
    let tested = promtool(&["test", "rules", &file.display().to_string()], "");
    assert!(tested.content && tested.output.contains("SUCCESS"), "{}", tested.output);
}

fn a_dead_zone_is_one_alert_of_its_nodes() {
    judge(
        &fleet(|zone, _| zone == 1),
        &[
            ("count(ALERTS{alertstate=\"firing\",alertname=\"NodewellZoneDown\",zone=\"z1\"})", 1),
            ("count(ALERTS{alertstate=\"firing\",alertname=~\"Nodewell(Cluster|Rack|Nodes)Down\"})", 0),
            ("count(ALERTS{alertstate=\"firing\",alertname=\"NodewellAgentDown\"})", 500),
            // Before Alertmanager: the zone, the storm, and two reasons for which dead nodes wait.
            ("count(ALERTS{alertstate=\"firing\",severity=\"page\"})", 4),
        ],
    );
}

/// Every third: no rack and no zone is down as a whole. That it is urgent the controller reports.
fn dead_nodes_here_and_there_are_one_ticket() {
    judge(
        &fleet(|_, number| number % 3 == 0),
        &[
            ("count(ALERTS{alertstate=\"firing\",alertname=\"NodewellNodesDown\",severity=\"ticket\"})", 1),
            ("count(ALERTS{alertstate=\"firing\",alertname=~\"Nodewell(Cluster|Zone|Rack)Down\"})", 0),
            ("count(ALERTS{alertstate=\"firing\",severity=\"page\"})", 3),
        ],
    );
}

/// Minutes of rules and routes are seconds: an hour of them is a minute of the test.
fn hurried(text: &str) -> String {
    (1..=60).fold(text.to_owned(), |text, minutes| {
        text.replace(&format!(": {minutes}m\n"), &format!(": {minutes}s\n"))
            .replace(&format!("[{minutes}m]"), &format!("[{minutes}s]"))
    })
}

/// One page instead of 1,500 agents: a series that is scraped with its own labels is `up` as any other.
fn page(nodes: &[FleetNode], dead: bool) -> String {
    let mut page = format!("{CONTROLLER} 1\n");
    for node in nodes {
        writeln!(page, "up{{{}}} {}", node.labels, u8::from(!(dead && node.dies))).unwrap();
    }
    for (series, value) in OF_THE_CONTROLLER.into_iter().filter(|_| dead) {
        writeln!(page, "{series} {value}").unwrap();
    }
    page
}

fn a_dead_zone_is_three_notifications() {
    notifies(&fleet(|zone, _| zone == 1), &["NodewellDeadNodeStranded", "NodewellZoneDown"]);
}

/// Every third rack, whatever its zone.
fn dead_racks_are_three_notifications() {
    notifies(&fleet(|_, number| (number / 20) % 3 == 0), &["NodewellDeadNodeStranded", "NodewellRackDown"]);
}

/// Every third node: of no place the most. What is urgent is that pods wait, and that a person is asked.
fn dead_nodes_here_and_there_are_three_notifications() {
    notifies(&fleet(|_, number| number % 3 == 0), &["NodewellDeadNodeStranded", "NodewellRemediationStorm"]);
}

/// A real Prometheus and a real Alertmanager on `nodes`, of which 500 die: these alerts page, in three notifications at
/// most.
fn notifies(nodes: &[FleetNode], pages_of: &[&str]) {
    let (webhook, plan) = (Webhook::start(), Plan::default());
    let example = fs::read_to_string(packaged("alertmanager.yaml")).unwrap();
    let routes = hurried(&example.replace("127.0.0.1:9095", &webhook.address()));
    assert!(routes.contains("group_wait: 2s") && routes.contains(&webhook.address()), "{routes}");
    let alertmanager = Alertmanager::start(&routes);
    let rules = RULES.map(|name| {
        let rules = hurried(&fs::read_to_string(packaged(name)).unwrap());
        plan.file(name, &rules).display().to_string()
    });
    webhook.show(page(nodes, false));
    let server = Prometheus::start(&format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: {rules:?}\n\
         alerting: {{ alertmanagers: [{{ static_configs: [{{ targets: [{:?}] }}] }}] }}\n\
         scrape_configs: [{{ job_name: fleet, honor_labels: true, static_configs: [{{ targets: [{:?}] }}] }}]\n",
        alertmanager.address(),
        webhook.address()
    ));
    let _ = server.wait("sum(rack:nodewell_nodes:count) == 1500");
    let _ = server.wait("count(node:nodewell_agent_seen:bool) == 1500");
    webhook.show(page(nodes, true));
    until("a page comes", || webhook.posts("/page").pop());
    let _ = server.wait("count(ALERTS{alertname=\"NodewellAgentDown\",alertstate=\"firing\"}) == 500");
    // Every alert fires, and each group of pages has its turn three times more.
    lasts(Duration::from_secs(45), "three pages at most", || webhook.posts("/page").len() <= MOST_PAGES);
    let pages = webhook.posts("/page");
    // Each by itself: one that is open for long is not what another is added to, unseen.
    assert_eq!(values_of(&pages, "alertname"), set(pages_of));
    assert!(pages.iter().all(|page| values_of(slice::from_ref(page), "alertname").len() == 1), "{pages:?}");
    // That a place is down hides no dead node that keeps its pods, whatever it waits for.
    assert_eq!(values_of(&pages, "reason"), set(&["PowerUnknown", "Storm"]));
    let tickets = values_of(&webhook.posts("/ticket"), "alertname");
    assert!(!tickets.contains("NodewellAgentDown"), "{tickets:?}");
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What the alerts of these notifications have as this label; those without it are left out.
fn values_of(notifications: &[Value], label: &str) -> BTreeSet<String> {
    let alerts = notifications.iter().flat_map(|notification| notification["alerts"].as_array().unwrap());
    alerts.filter_map(|alert| alert["labels"][label].as_str()).map(str::to_owned).collect()
}

fn the_example_of_alertmanager_is_taken() {
    let checked = Command::new("amtool").arg("check-config").arg(packaged("alertmanager.yaml")).output().unwrap();
    let output = [checked.stdout, checked.stderr].concat();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&output));
}

/// Debian builds Prometheus without the discovery of Kubernetes: that one line is another here.
fn the_example_of_prometheus_is_taken() {
    const DISCOVERY: &str = "kubernetes_sd_configs: [{ role: node, kubeconfig_file: /etc/prometheus/kubeconfig }]";
    let example = fs::read_to_string(packaged("prometheus.yaml")).unwrap();
    assert_eq!(example.matches(DISCOVERY).count(), 2, "{example}");
    let plan = Plan::default();
    let static_targets = "static_configs: [{ targets: [\"10.0.0.7:10250\"] }]";
    let file = plan.file("prometheus.yaml", &example.replace(DISCOVERY, static_targets));
    let checked = promtool(&["check", "config", "--syntax-only", &file.display().to_string()], "");
    assert!(checked.content, "{}", checked.output);
}
