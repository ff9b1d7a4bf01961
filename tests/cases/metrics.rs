//! Prometheus sees what Node Problem Detector's dashboards ask for.

use std::{collections::BTreeSet, fs};

use nodewell_tests::{
    agent::{Agent, Plan},
    suite::Suite,
    wait::until,
};

use crate::lines::{OOPS, QUIET_RULES, TEST_RULES};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("metrics")
        .case("problems_are_counted_and_gauged_as_npd_does", problems_are_counted_and_gauged_as_npd_does)
        .case("the_cluster_is_a_label_of_every_series", the_cluster_is_a_label_of_every_series)
        .case("node_exporter_reads_the_same_from_a_file", node_exporter_reads_the_same_from_a_file)
        .case("hashes_show_what_the_agent_goes_by", hashes_show_what_the_agent_goes_by);
}

fn problems_are_counted_and_gauged_as_npd_does() {
    let agent = Plan::default().start();
    agent.kmsg().write(OOPS);
    agent.kmsg().write(OOPS);
    agent.wait_condition("KernelUnhealthy", "True");
    until("two are counted", || agent.metrics().contains("problem_counter{reason=\"KernelOops\"} 2\n").then_some(()));
    let metrics = agent.metrics();
    let has = |line: &str| assert!(metrics.lines().any(|one| one == line), "no {line} in:\n{metrics}");
    has("problem_gauge{reason=\"KernelOops\",type=\"KernelUnhealthy\"} 1");
    has("nodewell_records_total{monitor=\"kernel-monitor\"} 2");
    assert_eq!(agent.nodewell(&["clear", "KernelUnhealthy"]).code, 0);
    let gone = "problem_gauge{reason=\"KernelOops\",type=\"KernelUnhealthy\"} 0\n";
    until("the gauge falls", || agent.metrics().contains(gone).then_some(()));
}

fn the_cluster_is_a_label_of_every_series() {
    let agent = Plan::default().config("cluster = \"east-1\"\n").start();
    let metrics = agent.metrics();
    let samples: Vec<&str> = metrics.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(samples.len() > 50, "{metrics}");
    let without: Vec<&&str> = samples.iter().filter(|line| !line.contains("{cluster=\"east-1\"")).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// The names of the metrics, each with its type.
fn metric_types(page: &str) -> BTreeSet<String> {
    page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).map(str::to_owned).collect()
}

fn node_exporter_reads_the_same_from_a_file() {
    let plan = Plan::default();
    let file = plan.folder().join("nodewell.prom");
    let mut agent = plan.config(&format!("[textfile]\npath = {:?}\n", file.display().to_string())).start();
    agent.kmsg().write(OOPS);
    let gauge = "problem_gauge{reason=\"KernelOops\",type=\"KernelUnhealthy\"} 1\n";
    until("the file has the page", || {
        let text = fs::read_to_string(&file).ok().filter(|text| text.contains(gauge))?;
        let mut page = metric_types(&agent.metrics());
        page.retain(|metric| !metric.starts_with("process_"));
        (metric_types(&text) == page && page.len() > 20).then_some(())
    });
    assert!(agent.stop().success());
    assert!(!file.exists());
}

/// The hashes of the configuration and of the rules, once the socket and the metrics show the same.
fn hashes(agent: &Agent) -> (String, String) {
    until("the socket and the metrics show one configuration", || {
        let shown = agent.view().configuration?;
        let metrics = agent.metrics();
        let has = |name: &str, hash: &str| metrics.contains(&format!("\n{name}{{hash=\"{hash}\"}} 1\n"));
        let agree = has("nodewell_config_info", &shown.hash) && has("nodewell_rules_info", &shown.rules_hash);
        agree.then(|| (shown.hash.clone(), shown.rules_hash.clone()))
    })
}

fn hashes_show_what_the_agent_goes_by() {
    let agent = Plan::default().rules(TEST_RULES).start();
    let first = hashes(&agent);
    let line = agent.nodewell(&["status", "--all"]).stdout;
    assert!(line.contains(&format!("\nConfiguration: {}, rules: ", &first.0["sha256:".len()..][..12])), "{line}");

    agent.plan().file("nodewell.toml.d/10.toml", "# nothing but a comment\n");
    agent.plan().file("nodewell.toml.d/20.toml", "[[grant]]\nunit = \"raid.service\"\nevents = true\n");
    agent.reload();
    let granted = until("a grant counts", || Some(hashes(&agent)).filter(|now| now.0 != first.0));
    assert_eq!(granted.1, first.1, "the rules are what they were");

    agent.plan().file("rules/more.toml", QUIET_RULES);
    agent.reload();
    let more = until("a rule file counts", || Some(hashes(&agent)).filter(|now| now.1 != first.1));
    assert_eq!(more.0, granted.0, "the configuration is what it was");

    let broken = agent.plan().file("rules/more.toml", &QUIET_RULES.replace("warn", "loud"));
    agent.reload();
    let place = format!("{}:", broken.display());
    until("the error is reported", || agent.log().contains(&place).then_some(()));
    assert_eq!(hashes(&agent), more, "what is not taken is not shown");

    let other = Plan::new("other-node").rules(TEST_RULES).start();
    assert_eq!(hashes(&other).1, first.1, "the same files in another folder");
}
