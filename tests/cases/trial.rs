//! The trial beside Node Problem Detector: its manifest is one that the API server takes, it can write nothing, and its
//! configuration is one that the agent takes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nodewell_tests::{cli::nodewell, cluster::Cluster, suite::Suite};
use yaml_rust2::{Yaml, YamlLoader};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("trial")
        .case("it_has_no_identity_and_mounts_the_host_read_only", it_has_no_identity_and_mounts_the_host_read_only)
        .case("its_configuration_is_taken", its_configuration_is_taken)
        .real_alone("the_api_server_takes_it", the_api_server_takes_it);
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/trial/daemonset.yaml")
}

/// The one object of this kind.
fn object(kind: &str) -> Yaml {
    let all = YamlLoader::load_from_str(&fs::read_to_string(file()).unwrap()).unwrap();
    let mut found = all.into_iter().filter(|object| object["kind"].as_str() == Some(kind));
    found.next().unwrap_or_else(|| panic!("no {kind}"))
}

fn items(of: &Yaml) -> &[Yaml] {
    of.as_vec().map_or(&[], Vec::as_slice)
}

fn it_has_no_identity_and_mounts_the_host_read_only() {
    let set = object("DaemonSet");
    let spec = &set["spec"]["template"]["spec"];
    assert_eq!(spec["automountServiceAccountToken"].as_bool(), Some(false));
    for shared in ["serviceAccountName", "hostNetwork", "hostPID", "hostIPC"] {
        assert!(spec[shared].is_badvalue(), "{shared}");
    }
    let of_host: Vec<&str> = items(&spec["volumes"])
        .iter()
        .filter(|it| !it["hostPath"].is_badvalue())
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(of_host, ["kmsg", "log"]);
    let containers = items(&spec["initContainers"]).iter().chain(items(&spec["containers"]));
    for mount in containers.flat_map(|container| items(&container["volumeMounts"])) {
        let name = mount["name"].as_str().unwrap();
        assert!(
            !of_host.contains(&name) || mount["readOnly"].as_bool() == Some(true),
            "{name} is not mounted read-only"
        );
    }
}

fn its_configuration_is_taken() {
    let text = object("ConfigMap")["data"]["nodewell.toml"].as_str().unwrap().to_owned();
    assert!(text.contains("standalone = true\n"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("nodewell.toml");
    fs::write(&config, text).unwrap();
    let checked = nodewell(["check".as_ref(), config.as_os_str()]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

fn the_api_server_takes_it(cluster: &Cluster) {
    let file = file();
    let applied = cluster.as_real().kubectl(&["apply", "--filename", file.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{applied:?}");
    assert!(applied.stdout.contains("daemonset.apps/nodewell-trial created"), "{applied:?}");
}
