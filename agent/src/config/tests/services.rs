use nodewell_checks::service::{At, OwnService, ServiceSettings, Target, Watch};

use super::*;

fn read_text(text: &str) -> Result<ServiceSettings, Vec<String>> {
    read(text).map(|config| config.checks.services)
}

#[test]
fn nothing_said_is_the_defaults_and_what_is_said_counts() {
    assert_eq!(read_text("").unwrap(), ServiceSettings::default());
    let text = r#"
[services]
interval = "10s"
failures = 5
kubelet = "never"
kube-proxy = "http://127.0.0.1:9/livez"
container-runtime = "unix:///run/a.sock"

[[service]]
unit = "etcd.service"
required = true
for = "10m"

[[service]]
name = "registry"
http = "http://localhost:5000/v2/"
interval = "6s"
timeout = "1s"
condition = "RegistryUnhealthy"
"#;
    let settings = read_text(text).unwrap();
    assert_eq!(settings.kubelet, Watch::Never);
    assert!(matches!(&settings.runtime, Watch::At(Target::Cri(path)) if path.ends_with("a.sock")));
    let [etcd, registry] = settings.own.as_slice() else { panic!("{settings:?}") };
    assert_eq!((etcd.name.as_str(), etcd.is_required, etcd.for_duration.as_secs()), ("etcd.service", true, 600));
    let timing = |own: &OwnService| own.timing.over(settings.timing);
    assert_eq!((timing(etcd).interval.as_secs(), timing(etcd).failures), (10, 5), "of [services]");
    assert_eq!((timing(registry).interval.as_secs(), timing(registry).timeout.as_secs()), (6, 1));
    assert!(matches!(&registry.target, Target::Http(target) if target.at == At::Tcp(([127, 0, 0, 1], 5000).into())));
    assert_eq!(registry.condition.as_ref().unwrap().as_str(), "RegistryUnhealthy");
}

#[test]
fn errors_are_reported_with_their_lines() {
    let text = r#"[services]
interval = "1s"
kubelet = "https://127.0.0.1:10250/healthz"
docker = "run/docker.sock"
failures = 0
[[service]]
unit = "etcd"
[[service]]
name = "two"
tcp = "127.0.0.1:1"
unix = "/a"
[[service]]
tcp = "etcd:2379"
name = "kubelet"
[[service]]
name = "a"
tcp = "127.0.0.1:1"
for = "1m"
timeout = "1h"
[[service]]
name = "b"
unix = "/a"
[[service]]
name = "b"
unix = "/b"
"#;
    let messages = read_text(text).unwrap_err();
    let lines: Vec<&str> = messages.iter().map(|line| line.split(": ").next().unwrap()).collect();
    let expected = [2, 3, 4, 5, 7, 8, 13, 14, 18, 19, 23].map(|line| format!("nodewell.toml:{line}"));
    assert_eq!(lines, expected, "{messages:#?}");
}

#[test]
fn a_later_file_replaces_a_service_of_the_same_name() {
    let one = "[[service]]\nname = \"a\"\nunix = \"/1\"\n[[service]]\nname = \"b\"\nunix = \"/b\"\n";
    let own = read_all(&[one, "[[service]]\nname = \"a\"\nunix = \"/2\"\n"]).unwrap().checks.services.own;
    let shown: Vec<String> = own.iter().map(|own| format!("{} {}", own.name, own.target)).collect();
    assert_eq!(shown, ["b /b", "a /2"]);
}
