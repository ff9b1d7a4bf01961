//! Manifests as people have them, and what is made of them.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::config::{Config, Flags};

/// As the program's own deployment has it, with a monitor of one's own.
const DAEMON_SET: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: npd}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: node-problem-detector
  namespace: kube-system
spec:
  template:
    spec:
      containers:
        - name: node-problem-detector
          image: registry.example/node-problem-detector/node-problem-detector:v0.8.20
          command:
            - /node-problem-detector
            - --logtostderr
            - --config.system-log-monitor=/config/kernel-monitor.json,/config/docker-monitor.json,/config/mine.json
            - --config.custom-plugin-monitor=/plugins/disk.json
            - --prometheus-port=20999
            - --hostname-override=$(NODE_NAME)
          env:
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
          volumeMounts:
            - {name: config, mountPath: /config, readOnly: true}
            - {name: plugins, mountPath: /plugins}
      volumes:
        - name: config
          configMap:
            name: npd-config
            items:
              - {key: kernel-monitor.json, path: kernel-monitor.json}
              - {key: mine.json, path: mine.json}
        - name: plugins
          hostPath: {path: /opt/npd}
"#;

const CONFIG_MAPS: &str = r#"
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: npd-config, namespace: kube-system}
  data:
    kernel-monitor.json: |
      {"plugin": "kmsg", "source": "kernel-monitor", "lookback": "5m", "conditions": [], "rules": [
        {"type": "temporary", "reason": "OOMKilling",
         "pattern": "Killed process \\d+ (.+) total-vm:\\d+kB, anon-rss:\\d+kB, file-rss:\\d+kB.*"}
      ]}
    mine.json: |
      {"plugin": "kmsg", "source": "mine-monitor", "lookback": "5m",
       "conditions": [{"type": "MyDriverBroken", "reason": "MyDriverWorks", "message": "the driver works"}],
       "rules": [
        {"type": "permanent", "condition": "MyDriverBroken", "reason": "MyDriverGaveUp", "pattern": "mydrv: gave up.*"}
      ]}
    old.json: "{}"
    check.sh: "exit 0"
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: another}
  data: {other.json: "[]"}
"#;

fn written(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The items as they are shown, without the folder.
fn lines(items: &[Item], folder: &TempDir) -> Vec<String> {
    let folder = format!("{}/", folder.path().display());
    report(items).iter().map(|line| line.replace(&folder, "")).collect()
}

fn assert_has(lines: &[String], parts: &[&str]) {
    for part in parts {
        assert!(lines.iter().any(|line| line.contains(part)), "no {part:?} in {lines:#?}");
    }
}

#[test]
fn a_manifest_gives_the_files_and_keys_of_its_container() {
    let folder = written(&[("npd.yaml", DAEMON_SET), ("maps.yml", CONFIG_MAPS)]);
    let input = Input::read(&[folder.path().to_owned()]).unwrap();
    let paths: Vec<PathBuf> = ["maps.yml#npd-config/kernel-monitor.json", "maps.yml#npd-config/mine.json"]
        .map(|name| folder.path().join(name))
        .into();
    assert_eq!(input.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>(), paths);
    let said = lines(&input.items, &folder);
    assert_has(
        &said,
        &[
            "npd.yaml#DaemonSet/node-problem-detector:2: none: /config/docker-monitor.json is the image's own",
            "node-problem-detector:3: none: /plugins/disk.json in the container is /opt/npd/disk.json on the node",
            "npd.yaml#DaemonSet/node-problem-detector:4: changed: metrics-address = \"127.0.0.1:20999\"",
            "npd.yaml#DaemonSet/node-problem-detector:5: same: --hostname-override=$(NODE_NAME)",
            "maps.yml#npd-config/old.json: none: no flag names it",
            "maps.yml#npd-config/check.sh: none: it is no monitor",
        ],
    );
    assert!(!said.iter().any(|line| line.contains("other.json")), "it is not mounted: {said:#?}");
    assert!(input.keys.ends_with("\n\nmetrics-address = \"127.0.0.1:20999\"\n"), "{}", input.keys);

    let imported = import(&input.files, Beside::Shipped).unwrap();
    let names: Vec<&Path> = imported.files.iter().map(|file| file.name.as_path()).collect();
    assert_eq!(names, [Path::new("monitors.d/mine.toml")]);
    let said = lines(&imported.items, &folder);
    assert_has(
        &said,
        &["kernel-monitor.json:2: covered: OOMKilling: ", "mine.json:4: same: MyDriverGaveUp: a rule of "],
    );
}

/// What the agent reads is written, in the places where it reads it.
#[test]
fn what_is_written_is_a_configuration() {
    let folder = written(&[("npd.yaml", DAEMON_SET), ("maps.yaml", CONFIG_MAPS)]);
    let target = tempfile::tempdir().unwrap();
    let command = ImportNpd {
        paths: vec![folder.path().to_owned()],
        target: Some(target.path().to_owned()),
        force: false,
        without_shipped: false,
        output: Output::default(),
    };
    command.run(&mut Out::stdout()).unwrap();
    let config = Config::load(&Flags { config: Some(target.path().join(KEYS)), ..Flags::default() }).unwrap();
    let plan = nodewell_rules::LoadPlan {
        monitors_dir: Some(target.path().join("monitors.d")),
        ..nodewell_rules::LoadPlan::default()
    };
    let loaded = nodewell_rules::load(&plan);
    assert_eq!(loaded.diagnostics, []);
    assert!(loaded.set.rules.iter().any(|rule| rule.reason.as_str() == "MyDriverGaveUp"));
    assert_eq!(config.metrics_address.0.map(|address| address.to_string()).as_deref(), Some("127.0.0.1:20999"));
}

#[test]
fn a_config_map_alone_gives_all_its_monitors() {
    let folder = written(&[("maps.yaml", CONFIG_MAPS)]);
    let input = Input::read(&[folder.path().join("maps.yaml")]).unwrap();
    let names: Vec<_> = input.files.iter().filter_map(|file| file.path.file_name()?.to_str()).collect();
    assert_eq!(names, ["kernel-monitor.json", "mine.json", "old.json", "other.json"]);
    assert_eq!((input.keys.as_str(), input.items.len()), ("", 0));
    // All errors are said, and nothing is written.
    let command = ImportNpd {
        paths: vec![folder.path().join("maps.yaml")],
        target: None,
        force: false,
        without_shipped: false,
        output: Output::default(),
    };
    let error = command.run(&mut Out::stdout()).unwrap_err().to_string();
    assert!(error.starts_with("nothing is written, because of errors:\n"), "{error}");
    assert!(
        error.contains("maps.yaml#npd-config/old.json") && error.contains("maps.yaml#another/other.json"),
        "{error}"
    );
}

#[test]
fn paths_of_the_container_that_the_node_has_elsewhere_are_named() {
    let config = r#"{"plugin": "custom", "source": "disks", "rules": [
        {"type": "temporary", "reason": "DiskSlow", "path": "/plugins/disk.sh"}]}"#;
    let mounted = DAEMON_SET.replace("/plugins/disk.json", "/config/mine.json");
    let maps = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "npd-config"},
        "data": {"mine.json": config}});
    let folder = written(&[("npd.yaml", &mounted), ("map.json", &maps.to_string())]);
    let input = Input::read(&[folder.path().join("npd.yaml"), folder.path().join("map.json")]).unwrap();
    assert_eq!(input.files.len(), 1, "{:?}", input.files);
    let said = lines(&input.items, &folder);
    assert_has(
        &said,
        &[
            "mine.json: changed: /plugins in the container is /opt/npd on the node: change it in the new file",
            "none: /config/kernel-monitor.json is kernel-monitor.json of the ConfigMap npd-config, which is not here",
        ],
    );
}

#[test]
fn flags_that_are_no_configuration_are_said_and_nothing_is_written() {
    let manifest = DAEMON_SET.replace("$(NODE_NAME)", "Worker_7");
    let folder = written(&[("npd.yaml", &manifest), ("maps.yaml", CONFIG_MAPS)]);
    let target = tempfile::tempdir().unwrap();
    let (paths, out) = (vec![folder.path().to_owned()], target.path().to_owned());
    let output = Output::default();
    let command = ImportNpd { paths, target: Some(out), force: false, without_shipped: false, output };
    let CommandError::Message { code, message } = command.run(&mut Out::stdout()).unwrap_err() else { panic!() };
    assert_eq!(code, 78, "{message}");
    assert!(message.contains("nodewell.toml.d/npd.toml:") && message.contains("Worker_7"), "{message}");
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let folder = written(&[("bad.json", "?")]);
    let path = folder.path().join("bad.json");
    let input = Input::read(&[folder.path().to_owned(), path.clone(), path]).unwrap();
    assert_eq!(input.files.len(), 1);
}

#[test]
fn what_is_too_large_is_said_as_such() {
    let large = format!("# {}\n{DAEMON_SET}", "x".repeat(16 << 20));
    let deep = format!("a: {}{}\n", "[".repeat(70), "]".repeat(70));
    let folder = written(&[("large.yaml", &large), ("deep.yaml", &deep)]);
    for (name, part) in [
        ("large.yaml", "large.yaml: it is larger than 16 MiB: give "),
        ("deep.yaml", "deep.yaml: it is larger, or nested deeper, than is read ("),
    ] {
        let error = Input::read(&[folder.path().join(name)]).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_is_nothing_of_it_is_said() {
    let folder = written(&[("bad.yaml", "a: [1\n"), ("other.yaml", "kind: Service\n"), ("notes.txt", "")]);
    let error = |name: &str| Input::read(&[folder.path().join(name)]).unwrap_err();
    for (name, code, part) in [
        ("bad.yaml", 65, "bad.yaml: it is neither YAML nor JSON: "),
        ("other.yaml", 65, "there is nothing to take over"),
        ("notes.txt", 64, "neither *.json nor *.yaml"),
        ("gone.json", 66, "gone.json: cannot be read: "),
    ] {
        let CommandError::Message { code: found, message } = error(name) else { panic!("{name}") };
        assert_eq!(found, code, "{message}");
        assert!(message.contains(part), "{message}");
    }
    let empty = tempfile::tempdir().unwrap();
    let error = Input::read(&[empty.path().to_owned()]).unwrap_err();
    assert!(error.to_string().ends_with("there is no *.json and no *.yaml in it"), "{error}");
}

#[test]
fn what_is_still_loaded_is_named() {
    let folder = written(&[]);
    let monitors = folder.path().join("monitors.d");
    fs::create_dir(&monitors).unwrap();
    fs::write(monitors.join("mine.json"), "{}").unwrap();
    let files = [NewFile { name: "monitors.d/mine.toml".into(), text: String::new() }];
    let still = "monitors.d/mine.json is still loaded beside the file that replaces it: remove it";
    let steps = next_steps(folder.path(), &files, &[], &[monitors.join("mine.json")]);
    assert!(steps[0].ends_with(still), "{steps:?}");
    let steps = next_steps(folder.path(), &files, &[], &["npd.yaml".into()]);
    assert!(steps[0].ends_with(still), "{steps:?}");
    let kept = [NewFile { name: "monitors.d/mine.json".into(), text: String::new() }];
    assert_eq!(next_steps(folder.path(), &kept, &[], &[monitors.join("mine.json")]).len(), 1);
    assert_eq!(next_steps(folder.path(), &[], &[], &[]), ["there is nothing to write"]);
}
