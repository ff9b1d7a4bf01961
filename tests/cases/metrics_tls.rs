//! Metrics over TLS: a real Prometheus with a certificate reads them, others do not, and renewed files need no restart.

use std::{ffi::OsString, fs, path::Path};

use nodewell_kit::free_port;
use nodewell_tests::{
    agent::Plan,
    cli::binary,
    http::over_tcp,
    pki::Pki,
    process::Process,
    prometheus::{self, Prometheus},
    suite::{Need, Suite},
    wait::until,
};
use tempfile::TempDir;

const NEEDS: &[Need] = &[Need::Other(prometheus::unmet)];
/// No server is there: the controller shows its metrics before it has seen a cluster.
const KUBECONFIG: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "x",
"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
"users": [{"name": "u", "user": {"token": "t"}}],
"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}"#;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("metrics_tls")
        .case_with(NEEDS, "clients_with_a_certificate_read_and_others_do_not", only_with_a_certificate)
        .case_with(NEEDS, "files_that_change_need_no_restart", files_that_change_need_no_restart)
        .case_with(NEEDS, "the_controller_serves_by_the_same_table", the_controller_serves_by_the_same_table);
}

/// An authority with a server's certificate, and one of a client.
fn authority(folder: &Path) -> Pki {
    fs::create_dir_all(folder).unwrap();
    let pki = Pki::new(folder, &[]);
    let _ = pki.client("prometheus", "monitoring");
    pki
}

/// The table, by which the authority's own clients may read.
fn table(pki: &Pki) -> String {
    format!(
        "[metrics-tls]\ncert = {:?}\nkey = {:?}\nclient-ca = {:?}\n",
        pki.path("server.crt"),
        pki.path("server.key"),
        pki.path("ca.crt")
    )
}

/// A job that takes `server`'s certificate and shows `client`'s, if one is named.
fn job(name: &str, target: &str, server: &Pki, client: Option<&Pki>) -> String {
    let shown = client.map_or_else(String::new, |pki| {
        format!(", cert_file: {:?}, key_file: {:?}", pki.path("prometheus.crt"), pki.path("prometheus.key"))
    });
    let tls = format!("tls_config: {{ ca_file: {:?}{shown} }}", server.path("ca.crt"));
    format!("- {{ job_name: {name}, scheme: https, {tls}, static_configs: [{{ targets: [{target:?}] }}] }}\n")
}

fn scraping(jobs: &[String]) -> Prometheus {
    Prometheus::start(&format!("global: {{ scrape_interval: 1s }}\nscrape_configs:\n{}", jobs.concat()))
}

fn only_with_a_certificate() {
    let others = TempDir::with_prefix("nodewell-test-").unwrap();
    let stranger = authority(&others.path().join("stranger"));
    let plan = Plan::default();
    let own = authority(&plan.folder().join("own"));
    let agent = plan.config(&table(&own)).start();
    let target = agent.metrics_address();
    let server = scraping(&[
        job("known", &target, &own, Some(&own)),
        job("bare", &target, &own, None),
        job("stranger", &target, &own, Some(&stranger)),
    ]);
    let _ = server.wait("count_over_time(up{job=\"known\"}[5m]) > 5 and up{job=\"known\"} == 1");
    let samples = server.wait("nodewell_build_info");
    assert!(samples.iter().all(|(labels, _)| labels["job"] == "known"), "{samples:?}");
    for refused in ["bare", "stranger"] {
        let up = server.wait(&format!("max_over_time(up{{job=\"{refused}\"}}[5m])"));
        assert!(up.iter().all(|(_, value)| *value == 0.0), "{refused}: {up:?}");
    }
    assert!(over_tcp(&target, "/metrics").is_none_or(|answer| !answer.body.contains("nodewell_")), "without TLS");
}

fn files_that_change_need_no_restart() {
    let plan = Plan::default();
    let own = authority(&plan.folder().join("own"));
    let (key, aside) = (own.path("server.key"), own.path("server.key.aside"));
    let agent = plan.config(&table(&own)).start();
    let server = scraping(&[job("known", &agent.metrics_address(), &own, Some(&own))]);
    let _ = server.wait("up == 1");
    fs::rename(&key, &aside).unwrap();
    let _ = server.wait("up == 0");
    let refused = format!("{}: No such file", key.display());
    until("the agent reports the file", || agent.log().contains(&refused).then_some(()));
    fs::rename(&aside, &key).unwrap();
    let _ = server.wait("up == 1");
    assert_eq!(agent.log().matches(&refused).count(), 1, "a line for each change and not for each connection");
}

fn the_controller_serves_by_the_same_table() {
    let folder = TempDir::with_prefix("nodewell-test-").unwrap();
    let own = authority(&folder.path().join("own"));
    let target = format!("127.0.0.1:{}", free_port());
    let (kubeconfig, config) = (folder.path().join("kubeconfig"), folder.path().join("controller.toml"));
    fs::write(&kubeconfig, KUBECONFIG).unwrap();
    let text = format!(
        "cluster = \"east-1\"\nkubeconfig = {kubeconfig:?}\nmetrics-listen = {target:?}\n[webhook]\nlisten = \"off\"\n"
    );
    fs::write(&config, text + &table(&own)).unwrap();
    let argv: [OsString; 4] = [binary("nodewell-controller").into(), "run".into(), "--config".into(), config.into()];
    let _controller = Process::start(&argv, &folder.path().join("log")).unwrap();
    let server = scraping(&[job("known", &target, &own, Some(&own)), job("bare", &target, &own, None)]);
    let _ = server.wait("count_over_time(up{job=\"bare\"}[5m]) > 5 and on () up{job=\"known\"} == 1");
    let samples = server.wait("nodewell_controller_build_info");
    assert!(samples.iter().all(|(labels, _)| labels["job"] == "known" && labels["cluster"] == "east-1"), "{samples:?}");
}
