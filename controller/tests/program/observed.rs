//! The controller's metrics, alerts and dashboard: each knows of the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nodewell_controller::metrics::table;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn alerts() -> String {
    text("packaging/prometheus/nodewell-controller-rules.yaml")
}

/// Name and kind of every metric.
fn metrics() -> BTreeMap<&'static str, &'static str> {
    table::ALL.iter().map(|metric| (metric.name, metric.kind.as_str())).collect()
}

/// The names of our metrics in a text.
fn asked(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("nodewell_controller_")).collect()
}

/// One of the three series of a histogram.
fn is_of_a_histogram(metrics: &BTreeMap<&str, &str>, name: &str) -> bool {
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
    base.and_then(|base| metrics.get(base)).is_some_and(|kind| *kind == "histogram")
}

#[test]
fn alerts_and_dashboard_ask_what_there_is() {
    let metrics = metrics();
    for file in ["prometheus/nodewell-controller-rules.yaml", "grafana/nodewell-controller.json"] {
        let text = text(&format!("packaging/{file}"));
        let asked = asked(&text);
        assert!(asked.len() > 8, "{file}: {asked:?}");
        let is_known = |name: &str| metrics.contains_key(name) || is_of_a_histogram(&metrics, name);
        let unknown: Vec<_> = asked.into_iter().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{file} asks for {unknown:?}");
    }
}

#[test]
fn every_alert_is_tried_and_has_a_chapter() {
    let (rules, guide) = (alerts(), text("docs/runbook.md"));
    let tests = text("packaging/prometheus/nodewell-controller-rules.test.yaml");
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(tests.contains(&format!("alertname: {alert}\n")), "{alert} is never tried");
        assert!(guide.contains(&format!("### {alert}\n")), "{alert} has no chapter in docs/runbook.md");
        assert!(rules.contains(&format!("docs/runbook.md#{}\n", alert.to_lowercase())), "{alert} does not point there");
    }
}

#[test]
fn alerts_fire_when_they_should() {
    if Command::new("promtool").arg("--version").output().is_err() {
        eprintln!("SKIP alerts_fire_when_they_should: needs promtool (Debian's package prometheus)");
        return;
    }
    let folder = root().join("packaging/prometheus");
    for (what, file) in [("check", "nodewell-controller-rules.yaml"), ("test", "nodewell-controller-rules.test.yaml")] {
        let tool = Command::new("promtool").args([what, "rules", file]).current_dir(&folder).output().unwrap();
        let output = [tool.stdout, tool.stderr].concat();
        assert!(tool.status.success(), "{}", String::from_utf8_lossy(&output));
    }
}
