//! Plug-ins, as scripts under the real supervisor: each is asked for its type, and reaps machines of that type only.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_controller::{daemon::SUPERVISOR, kube::convert};
use nodewell_kit::write_program;
use nodewell_power::{runner::Runner, supervisor::boottime_millis};
use nodewell_reaper::{Plugins, Unfit};
use nodewell_remediation::{facts::Node, time::Moment};
use tempfile::TempDir;

fn runner() -> Runner {
    let clock = Arc::new(|| Moment(Duration::from_millis(boottime_millis())));
    Runner::new(env!("CARGO_BIN_EXE_nodewell-controller").into(), vec![SUPERVISOR.to_owned()], clock)
}

/// A folder of plug-ins: name, mode, and what `type` does.
fn folder(plugins: &[(&str, u32, &str)]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, mode, script) in plugins {
        write_program(&folder.path().join(name), *mode, &format!("#!/bin/sh\n{script}\n"));
    }
    let paths = vec![folder.path().to_owned()];
    (folder, paths)
}

fn node(provider_id: &str) -> Node {
    let raw = serde_json::json!({
        "metadata": { "name": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "spec": { "providerID": provider_id },
    });
    convert::node(serde_json::from_value(raw).unwrap(), Moment::default()).unwrap()
}

#[tokio::test]
async fn each_is_chosen_by_what_the_providers_id_begins_with() {
    let (folder, paths) = folder(&[("a", 0o755, "echo aws"), ("b", 0o755, "echo gce"), ("notes", 0o644, "echo c")]);
    let plugins = Plugins::load(&paths, &runner()).await.unwrap();
    assert_eq!(plugins.of(&node("aws:///zone/i-1")).unwrap().path, folder.path().join("a"));
    assert_eq!(plugins.of(&node("gce://p/z/n")).unwrap().path, folder.path().join("b"));
    let error = plugins.of(&node("azure:///x")).unwrap_err();
    assert!(error.contains("azure") && error.contains("gce"), "{error}");
    assert!(plugins.of(&node("")).unwrap_err().contains("providerID"));
}

#[tokio::test]
async fn two_of_one_type_are_not_started_with() {
    let (_folder, paths) = folder(&[("a", 0o755, "echo aws"), ("b", 0o755, "echo aws")]);
    let error = Plugins::load(&paths, &runner()).await.unwrap_err();
    assert!(matches!(&error, Unfit::Twice { kind, .. } if kind == "aws"), "{error}");
}

#[tokio::test]
async fn one_that_others_may_write_or_that_does_not_print_its_type_is_left_out() {
    let plugins = [("a", 0o757, "echo aws"), ("b", 0o755, "exit 1"), ("c", 0o755, "echo two words"), ("d", 0o755, ":")];
    let (_folder, paths) = folder(&plugins);
    assert!(Plugins::load(&paths, &runner()).await.unwrap().is_empty());
}
