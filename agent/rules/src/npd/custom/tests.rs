//! Custom-plugin-monitor files: the stock ones load as they are, errors are reported with their lines.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nodewell_model::Severity;

use crate::{
    Loaded, Reader, load_path, load_text,
    plugin::{Component, PluginMonitor, Protocol, Task},
};

fn stock(name: &str) -> Loaded {
    let loaded = load_path(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/npd").join(name));
    assert_eq!(loaded.diagnostics, [], "{name}");
    loaded
}

fn text(json: &str) -> Loaded {
    load_text(Path::new("m.json"), json)
}

/// A file with one permanent rule that has `more`.
fn one(config: &str, more: &str) -> String {
    format!(
        "{{\"plugin\": \"custom\", \"source\": \"mine\",\n\"pluginConfig\": {{{config}}},\n\
         \"conditions\": [{{\"type\": \"Sick\", \"reason\": \"Well\", \"message\": \"fine\"}}],\n\
         \"rules\": [{{\"type\": \"permanent\", \"condition\": \"Sick\", \"reason\": \"R\",\n{more}}}]}}"
    )
}

fn diagnostics(json: &str) -> Vec<String> {
    text(json).diagnostics.iter().map(|messages| format!("{}: {}", messages.location.line, messages.message)).collect()
}

fn notes(loaded: &Loaded) -> String {
    loaded.notes.iter().map(|note| format!("{}: {}\n", note.location.line, note.message)).collect()
}

#[test]
fn the_stock_plugin_files_load_unchanged() {
    let set = stock("custom-plugin-monitor.json").set;
    let [PluginMonitor { source, concurrency, skip_initial, follows_message, tasks, .. }] = set.plugins.as_slice()
    else {
        panic!("{:?}", set.plugins)
    };
    assert_eq!(
        (&**source, *concurrency, *skip_initial, *follows_message),
        ("ntp-custom-plugin-monitor", 3, false, false)
    );
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["NTPIsDown", "NTPIsDown-2"]);
    let path = PathBuf::from("/config/plugin/check_ntp.sh");
    assert_eq!(tasks[0].task, Task::Run { path, args: Vec::new(), protocol: Protocol::Npd });
    let condition = |n: usize| tasks[n].condition.as_ref().map(|name| name.as_str());
    assert_eq!((condition(0), condition(1)), (None, Some("NTPProblem")));
    assert_eq!((tasks[0].severity, tasks[1].severity), (Severity::Warn, Severity::Error));
    assert_eq!((tasks[0].interval, tasks[0].timeout), (Duration::from_secs(30), Duration::from_secs(3)));
    assert_eq!((tasks[0].output_limit_bytes, set.conditions.len()), (80, 1));
    let daily = &stock("iptables-mode-monitor.json").set.plugins[0].tasks[0];
    assert_eq!(daily.interval, Duration::from_secs(86_400));
    assert_eq!(stock("network-problem-monitor.json").set.plugins[0].tasks.len(), 2);
}

/// Its releases are unpacked as `config/…json` beside `config/plugin/…`, and run from the folder that has both.
#[test]
fn a_relative_program_is_found_beside_its_file_where_the_root_has_none() {
    let release = tempfile::tempdir().unwrap();
    let config = release.path().join("config");
    std::fs::create_dir_all(config.join("plugin")).unwrap();
    let program = config.join("plugin/nodewell-has-none-in-its-root.sh");
    std::fs::write(&program, "").unwrap();
    for named in ["./plugin/nodewell-has-none-in-its-root.sh", "./config/plugin/nodewell-has-none-in-its-root.sh"] {
        let file = config.join("mine.json");
        std::fs::write(&file, one("", &format!("\"path\": \"{named}\""))).unwrap();
        let loaded = load_path(&file);
        let Task::Run { path, .. } = &loaded.set.plugins[0].tasks[0].task else { panic!("{:?}", loaded.set.plugins) };
        assert_eq!(*path, program, "{named}");
        assert!(notes(&loaded).contains("found beside this file"), "{}", notes(&loaded));
    }
    std::fs::remove_file(&program).unwrap();
    let Task::Run { path, .. } = &load_path(&config.join("mine.json")).set.plugins[0].tasks[0].task.clone() else {
        panic!("it is run")
    };
    assert_eq!(path, Path::new("/config/plugin/nodewell-has-none-in-its-root.sh"));
}

#[test]
fn a_health_checker_is_a_check_of_ours() {
    for (file, component, unit, timeout_secs, cooldown_secs) in [
        ("health-checker-kubelet.json", Component::Kubelet, "kubelet.service", 10, 60),
        ("health-checker-docker.json", Component::Docker, "docker.service", 60, 120),
        ("health-checker-containerd.json", Component::Cri, "containerd.service", 60, 120),
    ] {
        let loaded = stock(file);
        let task = &loaded.set.plugins[0].tasks[0];
        let Task::Health(checker) = &task.task else { panic!("{file}") };
        assert_eq!((checker.component, checker.unit.as_str(), checker.repair), (component, unit, true), "{file}");
        assert_eq!(checker.timeout, Duration::from_secs(timeout_secs), "{file}");
        assert_eq!(checker.cooldown, Duration::from_secs(cooldown_secs), "{file}");
        assert_eq!(checker.cri_socket, Path::new("/var/run/containerd/containerd.sock"));
        assert!(notes(&loaded).contains("health-checker is not run"), "{file}");
    }
}

#[test]
fn a_health_checkers_flags_are_read_as_its_own_library_reads_them() {
    let args = r#""path": "/opt/health-checker", "args": ["--component", "kube-proxy", "--enable-repair=false", "--v=3",
        "--log-pattern=10:PLEG is not.* healthy,3:(?i)panic", "--log-pattern=1:x", "--loopback-time=5m",
        "--service=my-proxy.service", "--cri-socket-path=unix:///run/crio/crio.sock"]"#;
    let loaded = text(&one("", args));
    assert_eq!(loaded.diagnostics, []);
    let Task::Health(checker) = &loaded.set.plugins[0].tasks[0].task else { panic!() };
    assert_eq!(
        (checker.component, checker.unit.as_str(), checker.repair),
        (Component::KubeProxy, "my-proxy.service", false)
    );
    assert_eq!((checker.cri_socket.to_str(), checker.loopback.as_secs()), (Some("/run/crio/crio.sock"), 300));
    assert_eq!(checker.log_patterns.iter().map(|pattern| pattern.count).collect::<Vec<_>>(), [10, 3, 1]);
}

#[test]
fn a_log_counter_is_a_counting_rule() {
    let loaded = stock("systemd-monitor-counter.json");
    assert!(loaded.set.plugins.is_empty());
    let rule = &loaded.set.rules[0];
    let counting = rule.counting.as_ref().unwrap();
    assert_eq!((counting.count, counting.window, counting.revert.len()), (5, Duration::from_secs(1200), 1));
    assert_eq!((rule.boot_delay, rule.lookback), (Some(Duration::from_secs(300)), Some(Duration::from_secs(1200))));
    assert_eq!(rule.fields.require, [("SYSLOG_IDENTIFIER".to_owned(), vec!["systemd".to_owned()])]);
    assert_eq!(loaded.set.readers, [Reader::Journal { directory: None }]);
    let kernel = stock("kernel-monitor-counter.json");
    assert_eq!((kernel.set.readers.as_slice(), kernel.set.rules.len()), (&[Reader::Kmsg][..], 1));
    assert_eq!(stock("docker-monitor-counter.json").set.rules[0].counting.as_ref().unwrap().count, 10);
}

#[test]
fn what_a_log_counter_counts_is_found_and_ends() {
    let set = std::sync::Arc::new(stock("kernel-monitor-counter.json").set);
    let mut detector = crate::Detector::new(set, 0).unwrap();
    let mut push = |secs: i64| {
        let line = b"unregister_netdevice: waiting for eth0 to become free. Usage count = 1";
        let mut out = Vec::new();
        detector.push(&crate::testing::record(line, secs), &mut out);
        out.pop()
    };
    assert!(push(0).is_none() && push(10).is_none());
    let found = push(20).unwrap();
    assert_eq!(found.condition.unwrap().as_str(), "FrequentUnregisterNetDevice");
    assert_eq!((found.count, found.ends_after_quiet), (3, Some(Duration::from_secs(1180))));
}

#[test]
fn errors_are_reported_with_their_lines() {
    let run = "\"path\": \"/bin/true\"";
    for (json, expected) in [
        (one("\"invoke_interval\": \"0s\"", run), "2: \"invoke_interval\" must be longer than nothing"),
        (one("\"timeout\": \"x\"", run), "2: \"timeout\": \"x\" is not a Go duration; write 86400s, 5m or 1m30s"),
        (one("\"concurrency\": 0", run), "2: \"concurrency\" must be at least 1"),
        (one("\"max_output_length\": -1", run), "2: \"max_output_length\" must not be negative"),
        (one("\"skip_initial_status\": 1", run), "2: \"skip_initial_status\" takes a boolean, not 1"),
        (one("", "\"path\": \"\""), "5: a rule needs \"path\", the program to run"),
        (one("", "\"path\": \"/a\", \"args\": [1]"), "5: \"args\" takes strings, not 1"),
        (
            one("\"timeout\": \"2s\"", "\"path\": \"/a\", \"timeout\": \"3s\""),
            "5: \"timeout\" is longer than that of pluginConfig, 2s",
        ),
        (
            one("", run).replace("\"condition\": \"Sick\"", "\"condition\": \"Sik\""),
            "4: unknown condition \"Sik\"; did you mean \"Sick\"?",
        ),
        (
            one("", run).replace("\"condition\": \"Sick\", ", ""),
            "4: a permanent rule needs \"condition\": the condition that it turns True",
        ),
        (
            one("", "\"path\": \"log-counter\", \"args\": [\"--pattern=x\"]"),
            "4: log-counter needs --journald-source, the SYSLOG_IDENTIFIER to read",
        ),
        (
            one("", "\"path\": \"log-counter\", \"args\": [\"--journald-source=a\",\n\"--patern=x\", \"--pattern=x\"]"),
            "6: log-counter has no flag --patern; did you mean \"pattern\"?",
        ),
        (
            one("", "\"path\": \"health-checker\", \"args\": [\"--component=etcd\"]"),
            "5: --component takes kubelet, kube-proxy, docker or cri, not \"etcd\"",
        ),
        (
            one("", "\"path\": \"health-checker\", \"args\": [\"--log-pattern=x\"]"),
            "5: --log-pattern takes COUNT:PATTERN, such as 10:PLEG is not healthy",
        ),
        (one("", "\"path\": \"health-checker\", \"args\": [\"--service\"]"), "5: --service lacks its value"),
    ] {
        assert_eq!(diagnostics(&json), [expected], "{json}");
    }
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let json = one("\"timeout\": 5, \"concurrency\": \"x\"", "\"path\": 1, \"args\": {}, \"invoke_interval\": \"-1s\"");
    assert!(diagnostics(&json).len() >= 5, "{:?}", diagnostics(&json));
}

#[test]
fn keys_count_in_any_case_and_defaults_are_theirs() {
    let loaded =
        text(&one("\"MAX_OUTPUT_LENGTH\": 5000, \"Concurrency\": 900", "\"PATH\": \"/bin/true\", \"Args\": null"));
    assert_eq!(loaded.diagnostics, []);
    let monitor = &loaded.set.plugins[0];
    let task = &monitor.tasks[0];
    assert_eq!((monitor.concurrency, task.output_limit_bytes), (32, 1024));
    assert_eq!((task.interval, task.timeout), (Duration::from_secs(30), Duration::from_secs(5)));
}

#[test]
fn a_daemons_name_is_no_other_daemons() {
    let named = |name: &str| one("", "\"path\": \"/bin/true\"").replace("mine", name);
    for (name, expected) in [("check", "check-custom"), ("a b/ü", "a-b--"), ("x-mine", "x-mine")] {
        assert_eq!(&*text(&named(name)).set.plugins[0].source, expected);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), named("kernel-monitor")).unwrap();
    std::fs::copy(
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/npd/kernel-monitor.json"),
        folder.path().join("b.json"),
    )
    .unwrap();
    let loaded = load_path(folder.path());
    assert_eq!(&*loaded.set.plugins[0].source, "kernel-monitor-custom");
    assert!(notes(&loaded).contains("is the problem daemon"));
}
