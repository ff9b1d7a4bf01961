//! Prometheus' own programs on what we ship for it: alerts, the dashboard, the metrics, a real scrape.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use nodewell_tests::{
    agent::Plan,
    prometheus::{self, Prometheus, promtool},
    suite::{Need, Suite},
};
use serde_json::Value;

use crate::{lines::OOPS, statistics_metrics::with_stock_files};

const NEEDS: &[Need] = &[Need::Other(prometheus::unmet)];

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("statistics_prometheus")
        .case_with(NEEDS, "alerts_fire_when_they_should", alerts_fire_when_they_should)
        .case_with(NEEDS, "the_dashboard_asks_what_can_be_answered", the_dashboard_asks_what_can_be_answered)
        .case_with(NEEDS, "the_page_is_what_prometheus_wants", the_page_is_what_prometheus_wants)
        .case_with(NEEDS, "a_real_server_scrapes_the_agent", a_real_server_scrapes_the_agent);
}

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

fn alerts() -> PathBuf {
    packaged("prometheus/nodewell-rules.yaml")
}

fn alerts_fire_when_they_should() {
    let checked = promtool(&["check", "rules", &alerts().display().to_string()], "");
    assert!(checked.content && checked.output.contains("SUCCESS"), "{}", checked.output);
    let tests = packaged("prometheus/nodewell-rules.test.yaml");
    let tested = promtool(&["test", "rules", &tests.display().to_string()], "");
    assert!(tested.content && tested.output.contains("SUCCESS"), "{}", tested.output);
    let rules = fs::read_to_string(alerts()).unwrap();
    let (tests, guide) = (fs::read_to_string(tests).unwrap(), guide());
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(tests.contains(alert), "{alert} is never tried");
        assert!(guide.contains(&format!("### {alert}\n")), "{alert} has no chapter in docs/runbook.md");
        assert!(rules.contains(&format!("docs/runbook.md#{}\n", alert.to_lowercase())), "{alert} does not point there");
    }
}

fn guide() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/runbook.md")).unwrap()
}

/// Every `expr` of the dashboard, with Grafana's own variables filled in.
fn expressions(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let fill = |expr: &str| {
        let anything = ["$cluster", "$zone", "$instance"];
        let filled = expr.replace("$__rate_interval", "5m").replace("$job", "nodewell");
        let filled = anything.iter().fold(filled, |filled, variable| filled.replace(*variable, ".*"));
        assert!(!filled.contains('$'), "{filled}");
        filled
    };
    targets.map(|target| fill(target["expr"].as_str().unwrap())).collect()
}

fn the_dashboard_asks_what_can_be_answered() {
    let dashboard: Value =
        serde_json::from_str(&fs::read_to_string(packaged("grafana/nodewell.json")).unwrap()).unwrap();
    let expressions = expressions(&dashboard);
    assert!(expressions.len() >= 30, "{}", expressions.len());
    let rule =
        |(number, expr): (usize, &String)| serde_json::json!({"record": format!("panel:{number}"), "expr": expr});
    let rules: Vec<Value> = expressions.iter().enumerate().map(rule).collect();
    let plan = Plan::default();
    let file =
        plan.file("panels.yaml", &serde_json::json!({"groups": [{"name": "panels", "rules": rules}]}).to_string());
    let checked = promtool(&["check", "rules", &file.display().to_string()], "");
    assert!(checked.content, "{}", checked.output);
    let page = with_stock_files().metrics();
    let fleet = packaged("prometheus/nodewell-fleet-rules.yaml");
    let rules = [alerts(), fleet].map(|path| fs::read_to_string(path).unwrap());
    let text = expressions.join("\n") + &rules.concat();
    let asked = names(&text);
    assert!(asked.len() > 25, "{asked:?}");
    for name in asked {
        assert!(page.contains(&format!("# TYPE {name} ")), "{name} is no metric of ours");
    }
    let ids: Vec<&Value> = dashboard["panels"].as_array().unwrap().iter().map(|panel| &panel["id"]).collect();
    assert_eq!(ids.len(), ids.iter().map(|id| id.to_string()).collect::<BTreeSet<_>>().len(), "panels share an id");
}

/// The names of our metrics in a text; what a rule records has a colon in its name.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_:".contains(c));
    let ours = ["nodewell_", "problem_", "process_"];
    words.filter(|word| !word.contains(':') && ours.iter().any(|prefix| word.starts_with(prefix))).collect()
}

/// Prometheus' linter has opinions on names; Node Problem Detector's are as they are, and no other complaint is
/// allowed.
fn the_page_is_what_prometheus_wants() {
    let verdict = promtool(&["check", "metrics"], &with_stock_files().metrics());
    for complaint in verdict.output.lines() {
        let (name, _) = complaint.split_once(' ').unwrap_or((complaint, ""));
        let is_theirs = ["problem_", "cpu_", "disk_", "memory_", "net_", "system_", "host_"];
        assert!(is_theirs.iter().any(|prefix| name.starts_with(prefix)), "{}", verdict.output);
    }
}

fn a_real_server_scrapes_the_agent() {
    let agent = with_stock_files();
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    let server = Prometheus::scraping(&agent.metrics_address(), &alerts());
    let value = |query: &str| server.wait(query)[0].1;
    assert_eq!(value("up{job=\"nodewell\"} == 1"), 1.0);
    assert_eq!(value("problem_gauge{reason=\"KernelOops\",type=\"KernelUnhealthy\"}"), 1.0);
    assert_eq!(value("scrape_samples_scraped > 0"), value("scrape_samples_post_metric_relabeling > 0"));
    assert!(value("nodewell_node_memory_total_bytes") > 1e6 && value("memory_percent_used{state=\"used\"}") < 100.0);
    assert!(value("host_uptime") > 0.0 && value("sum(cpu_usage_time)") > 0.0);
    assert!(value("count(net_rx_bytes)") >= 1.0);
    let firing = server.wait("ALERTS{alertname=\"NodewellCondition\"}");
    assert!(firing.iter().any(|(labels, _)| labels["type"] == "KernelUnhealthy"), "{firing:?}");
}
