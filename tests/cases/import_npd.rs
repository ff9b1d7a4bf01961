//! `nodewell import-npd`: an agent finds with what was written what Node Problem Detector's files find.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use nodewell_tests::{
    agent::Plan,
    cli::{Outcome, binary, nodewell},
    suite::Suite,
};

use crate::npd_stock_configs::{FOLDER, KERNEL_LINES};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("import_npd")
        .case("what_is_written_is_found", what_is_written_is_found)
        .case("all_stock_files_fire_without_the_shipped_rules", all_stock_files_fire_without_the_shipped_rules)
        .case("the_stock_monitors_need_no_copy", the_stock_monitors_need_no_copy)
        .case("a_manifest_on_standard_input_is_one_rule_file", a_manifest_on_standard_input_is_one_rule_file)
        .case("programs_read_all_of_it_in_one_document", programs_read_all_of_it_in_one_document)
        .case("what_is_there_is_left_as_it_is", what_is_there_is_left_as_it_is)
        .case("the_agents_user_reads_it_whatever_the_umask", the_agents_user_reads_it_whatever_the_umask)
        .case("errors_are_said_and_nothing_is_written", errors_are_said_and_nothing_is_written);
}

/// Of one's own: a rule that holds a condition, and one that does not.
const MINE: &str = r#"{"plugin": "kmsg", "source": "mine-monitor", "lookback": "5m",
    "conditions": [{"type": "MyDriverBroken", "reason": "MyDriverWorks", "message": "the driver works"}],
    "rules": [
        {"type": "permanent", "condition": "MyDriverBroken", "reason": "MyDriverGaveUp", "pattern": "mydrv [a-z0-9]+: gave up"},
        {"type": "temporary", "reason": "MyDriverSlow", "pattern": "mydrv [a-z0-9]+: slow, took \\d+ ms.*"}
    ]}"#;

fn import(input: &Path, out: &Path, more: &[&str]) -> Outcome {
    let args = ["import-npd".as_ref(), input.as_os_str(), "--out".as_ref(), out.as_os_str()];
    nodewell(args.into_iter().chain(more.iter().map(AsRef::as_ref)))
}

fn imported(input: &Path, out: &Path, more: &[&str]) -> Outcome {
    let outcome = import(input, out, more);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome
}

fn what_is_written_is_found() {
    let plan = Plan::default();
    let input = plan.file("npd/mine.json", MINE);
    let outcome = imported(&input, plan.folder(), &[]);
    let file = plan.folder().join("monitors.d/mine.toml");
    for part in ["mine.json:4: same: MyDriverGaveUp: a rule of monitors.d/mine.toml\n", "\n2 same, "] {
        assert!(outcome.stderr.contains(part), "no {part:?} in {}", outcome.stderr);
    }
    assert!(outcome.stderr.contains(&format!("written: {}\n", file.display())), "{}", outcome.stderr);
    assert_eq!(nodewell(["check".as_ref(), file.as_os_str()]).code, 0);
    let agent = plan.start();
    assert_eq!(agent.wait_condition("MyDriverBroken", "False").reason.as_str(), "MyDriverWorks");
    // The end of the line is part of what the pattern says.
    agent.kmsg().write("mydrv a0: gave up a bit");
    agent.kmsg().write("mydrv a0: slow, took 70 ms, and more");
    agent.wait_event("MyDriverSlow");
    assert_eq!(agent.condition("MyDriverBroken").unwrap().status.as_str(), "False");
    agent.kmsg().write("mydrv a1: gave up");
    let view = agent.wait_condition("MyDriverBroken", "True");
    assert_eq!((view.reason.as_str(), view.problems[0].message.as_str()), ("MyDriverGaveUp", "mydrv a1: gave up"));
}

fn all_stock_files_fire_without_the_shipped_rules() {
    let plan = Plan::default();
    imported(Path::new(FOLDER), plan.folder(), &["--without-shipped"]);
    let empty = plan.folder().join("no-rules");
    fs::create_dir(&empty).unwrap();
    let agent = plan.flag("--rules", empty).start();
    for (reason, line) in KERNEL_LINES {
        agent.kmsg().write(line);
        agent.wait_event(reason);
    }
    agent.kmsg().write("task docker:7 blocked for more than 300 seconds.");
    assert_eq!(agent.wait_condition("KernelDeadlock", "True").reason.as_str(), "DockerHung");
}

fn the_stock_monitors_need_no_copy() {
    let names = ["kernel-monitor", "docker-monitor", "systemd-monitor", "health-checker-kubelet"];
    let files = names.map(|name| format!("{FOLDER}/{name}.json"));
    let outcome = nodewell(["import-npd"].into_iter().chain(files.iter().map(String::as_str)));
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let [items @ .., counts, done] = lines.as_slice() else { panic!("{outcome:?}") };
    assert!(items.len() > 15 && items.iter().all(|line| line.contains(".json:")), "{items:#?}");
    assert!(items.iter().all(|line| line.contains(": covered: ")), "{items:#?}");
    assert_eq!((*counts, *done), (format!("{} covered", items.len()).as_str(), "there is nothing to write"));
}

fn a_manifest_on_standard_input_is_one_rule_file() {
    let manifest = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "npd"}, "data": {"mine.json": MINE, "old.json": "?"}},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "npd"}, "spec": {"template": {"spec": {
            "containers": [{"name": "npd", "image": "node-problem-detector:v1",
                "args": ["--config.system-log-monitor=/config/mine.json", "--k8s-exporter-heartbeat-period=1m"],
                "volumeMounts": [{"name": "config", "mountPath": "/config"}]}],
            "volumes": [{"name": "config", "configMap": {"name": "npd"}}]}}}},
    ]});
    let mut command = Command::new(binary("nodewell"));
    command.args(["import-npd", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.to_string().as_bytes()).unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, 0, "{outcome:?}");
    for part in ["stdin.yaml#npd/mine.json:4: same: MyDriverGaveUp", "stdin.yaml#npd/old.json: none: no flag names it"]
    {
        assert!(outcome.stderr.contains(part), "no {part:?} in {}", outcome.stderr);
    }
    assert!(outcome.stdout.contains("# heartbeat = \"1m\"\n"), "{}", outcome.stdout);
    let plan = Plan::default();
    plan.file("monitors.d/npd.toml", &outcome.stdout);
    let agent = plan.start();
    agent.kmsg().write("mydrv a1: gave up");
    agent.wait_condition("MyDriverBroken", "True");
}

fn programs_read_all_of_it_in_one_document() {
    let plan = Plan::default();
    let input = plan.file("npd/mine.json", MINE);
    let asked = nodewell(["import-npd".as_ref(), input.as_os_str(), "-o".as_ref(), "json".as_ref()]);
    assert_eq!((asked.code, asked.stderr.as_str()), (0, ""), "{asked:?}");
    let document = asked.json();
    let file = &document["files"][0];
    assert_eq!((file["name"].as_str(), file["path"].is_null()), (Some("monitors.d/mine.toml"), true), "{document}");
    assert!(file["text"].as_str().unwrap().contains("reason = \"MyDriverGaveUp\"\n"), "{document}");
    assert!(!plan.folder().join("monitors.d").exists(), "it was not to be written");
    let items = document["items"].as_array().unwrap();
    let gave_up = items.iter().find(|item| item["text"].as_str().unwrap().starts_with("MyDriverGaveUp: ")).unwrap();
    assert_eq!((gave_up["file"].as_str(), gave_up["line"].as_u64()), (input.to_str(), Some(4)), "{gave_up}");
    assert_eq!(gave_up["fate"].as_str(), Some("same"), "{gave_up}");
    let path = plan.folder().join("monitors.d/mine.toml");
    for is_unchanged in [false, true] {
        let outcome = imported(&input, plan.folder(), &["--json"]);
        let written = outcome.json();
        let file = &written["files"][0];
        assert_eq!((file["path"].as_str(), file["is_unchanged"].as_bool()), (path.to_str(), Some(is_unchanged)));
        assert_eq!(file["text"].as_str(), Some(fs::read_to_string(&path).unwrap().as_str()));
        assert_eq!(written["items"], document["items"]);
        assert_eq!(written["notes"][0].as_str(), Some("next: `nodewell check`, then `systemctl reload nodewell`"));
        assert_eq!(outcome.stderr, "", "all is in the document");
    }
}

fn what_is_there_is_left_as_it_is() {
    let plan = Plan::default();
    let input = plan.file("npd/mine.json", MINE);
    let file = plan.file("monitors.d/mine.toml", "# of another hand\n");
    let refused = import(&input, plan.folder(), &[]);
    assert_eq!(refused.code, 70, "{refused:?}");
    assert!(refused.stderr.contains(&format!("{}: it is there, and different\n", file.display())), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# of another hand\n");
    imported(&input, plan.folder(), &["--force"]);
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.contains("reason = \"MyDriverGaveUp\"\n"), "{written}");
    let again = imported(&input, plan.folder(), &[]);
    assert!(again.stderr.contains(&format!("unchanged: {}\n", file.display())), "{again:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
}

/// root's is 077 on many hosts, and the agent is not root.
fn the_agents_user_reads_it_whatever_the_umask() {
    let plan = Plan::default();
    let input = plan.file("npd/mine.json", MINE);
    let out = plan.folder().join("new/nodewell");
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(binary("nodewell")).arg("import-npd").arg(input);
    let outcome = Outcome::from(command.arg("--out").arg(&out).output().unwrap());
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let mode = |path: &str| fs::metadata(out.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".."), mode("."), mode("monitors.d")), (0o755, 0o755, 0o755));
    assert_eq!(mode("monitors.d/mine.toml"), 0o644);
}

fn errors_are_said_and_nothing_is_written() {
    let plan = Plan::default();
    plan.file("npd/a.json", MINE);
    plan.file("npd/b.json", &MINE.replace("gave up\"", "(gave up\"").replace("took \\\\d+", "took \\\\d+("));
    let outcome = import(&plan.folder().join("npd"), plan.folder(), &[]);
    assert_eq!(outcome.code, 78, "{outcome:?}");
    for line in [4, 5] {
        assert!(outcome.stderr.contains(&format!("npd/b.json:{line}: ")), "nothing of line {line} in {outcome:?}");
    }
    assert!(!plan.folder().join("monitors.d").exists());
    let map = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "\u{1b}[2J"},
        "data": {"bad.json": "?"}});
    let outcome = import(&plan.file("map.json", &map.to_string()), plan.folder(), &[]);
    assert_eq!(outcome.code, 78, "{outcome:?}");
    assert!(outcome.stderr.contains("[2J/bad.json:1: ") && !outcome.stderr.contains('\u{1b}'), "{outcome:?}");
    let gone = nodewell(["import-npd", "/nonexistent/kernel-monitor.json"]);
    assert_eq!(gone.code, 66, "{gone:?}");
}
