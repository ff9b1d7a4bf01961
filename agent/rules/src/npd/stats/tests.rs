//! The stock files name every figure; slips are reported with their line.

use std::{fs, path::Path, time::Duration};

use proptest::prelude::*;

use super::{DiskChoice, METRICS, SystemStats, prometheus_name};
use crate::{Loaded, load_path};

const STOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npd");

fn stock(name: &str) -> SystemStats {
    let mut loaded = load_path(&Path::new(STOCK).join(name));
    assert_eq!(loaded.diagnostics, []);
    loaded.set.statistics.remove(0)
}

fn ids(stats: &SystemStats) -> Vec<&str> {
    stats.metrics.iter().map(|metric| metric.id).collect()
}

fn of(sections: &[&str]) -> Vec<&'static str> {
    let wanted = METRICS.iter().filter(|(section, _)| sections.contains(section));
    wanted.flat_map(|(_, ids)| ids.iter().copied()).collect()
}

/// The files of a folder of their own, together.
fn load(files: &[(&str, &str)]) -> (tempfile::TempDir, Loaded) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let loaded = load_path(folder.path());
    (folder, loaded)
}

fn messages(text: &str) -> (Vec<String>, Vec<String>) {
    let draft = super::super::read(Path::new("m.json"), text);
    let shown = |line: usize, message: &str| format!("{line}: {message}");
    (
        draft.diagnostics.iter().map(|m| shown(m.location.line, &m.message)).collect(),
        draft.notes.iter().map(|n| shown(n.location.line, &n.message)).collect(),
    )
}

#[test]
fn the_stock_files_name_every_figure() {
    let system = stock("system-stats-monitor.json");
    assert_eq!(ids(&system), of(&["cpu", "disk", "host", "memory", "osFeature"]));
    assert_eq!(system.disks, DiskChoice { whole: true, mounted: true });
    assert_eq!((system.interval, system.proc.to_str()), (Duration::from_secs(60), Some("/proc")));
    assert!(system.known_modules.iter().any(|name| name == "overlay"), "{:?}", system.known_modules);
    let net = stock("net-cgroup-system-stats-monitor.json");
    assert_eq!((ids(&net), net.interval), (of(&["net"]), Duration::from_secs(120)));
    let excluded = net.exclude_interfaces.unwrap();
    assert!(excluded.is_match(b"veth12ab") && !excluded.is_match(b"eth0"));
}

#[test]
fn keys_count_in_any_case_and_names_of_figures_do_not() {
    let text = r#"{"CPU": {"METRICSCONFIGS": {"cpu/load_1m": {"DISPLAYNAME": "a/b-1"}, "CPU/load_5m": {"displayName": "x"}}},
        "InvokeInterval": "10s"}"#;
    let (_folder, loaded) = load(&[("m.json", text)]);
    assert_eq!(loaded.diagnostics, []);
    let stats = &loaded.set.statistics[0];
    assert_eq!((ids(stats), &*stats.metrics[0].name), (vec!["cpu/load_1m"], "a_b_1"));
    let unknown = "unknown metric \"CPU/load_5m\" is passed over; did you mean \"cpu/load_5m\"?";
    assert!(loaded.notes.iter().any(|note| note.message == unknown), "{:?}", loaded.notes);
}

#[test]
fn a_figure_without_a_display_name_is_off() {
    let text = r#"{"cpu": {"metricsConfigs": {"cpu/load_1m": {}, "cpu/load_5m": {"displayName": ""}, "cpu/load_15m": null,
        "cpu/usage_time": {"displayName": "first"}, "cpu/usage_time": {"displayName": "last"}}}, "disk": {}, "memory": null}"#;
    let (_folder, loaded) = load(&[("m.json", text)]);
    let metrics = &loaded.set.statistics[0].metrics;
    assert_eq!((metrics.len(), &*metrics[0].name), (1, "last"));
}

#[test]
fn display_names_become_names_for_prometheus() {
    for (display, name) in [
        ("cpu/load_1m", "cpu_load_1m"),
        ("kubernetes.io/node/rx", "kubernetes_io_node_rx"),
        ("1m", "key_1m"),
        ("_x", "key_x"),
        ("größe", "gr__e"),
        ("/", "key_"),
    ] {
        assert_eq!(prometheus_name(display), name);
    }
    assert_eq!(prometheus_name(&"a".repeat(500)).len(), 100);
}

#[test]
fn slips_are_told_with_their_line() {
    for (text, diagnostic) in [
        ("{\n\"cpu\": 3}", "2: \"cpu\" takes an object, not 3"),
        ("{\"cpu\": {\n\"metricsConfigs\": []}}", "2: \"metricsConfigs\" takes an object, not this array"),
        ("{\"cpu\": {\"metricsConfigs\": {\n\"cpu/load_1m\": 1}}}", "2: \"cpu/load_1m\" takes an object, not 1"),
        (
            "{\"cpu\": {\"metricsConfigs\": {\"cpu/load_1m\":\n{\"displayName\": 1}}}}",
            "2: \"displayName\" takes a string, not 1",
        ),
        (
            "{\n\"invokeInterval\": \"1\"}",
            "2: \"invokeInterval\": \"1\" is not a Go duration; write 86400s, 5m or 1m30s",
        ),
        ("{\n\"invokeInterval\": \"0s\"}", "2: \"invokeInterval\" must be more than nothing"),
        ("{\n\"invokeInterval\": 60}", "2: \"invokeInterval\" takes a string, not 60"),
        (
            "{\"invokeInterval\": \"1s\", \"disk\": {\n\"lsblkTimeout\": \"2s\"}}",
            "2: \"lsblkTimeout\" must not be longer than \"invokeInterval\"",
        ),
        ("{\"disk\": {\n\"includeRootBlk\": \"yes\"}}", "2: \"includeRootBlk\" takes a boolean, not this string"),
        (
            "{\"net\": {\n\"excludeInterfaceRegexp\": \"(a\"}}",
            "2: invalid regex in \"excludeInterfaceRegexp\": unclosed group",
        ),
        (
            "{\"cpu\": {\"metricsConfigs\": {\"cpu/load_1m\": {\"displayName\": \"a/b\"},\n\"cpu/load_5m\": {\"displayName\": \"a_b\"}}}}",
            "2: cpu/load_1m and cpu/load_5m would both be a_b to Prometheus",
        ),
        (
            "{\"cpu\": {\"metricsConfigs\": {\n\"cpu/load_1m\": {\"displayName\": \"problem/gauge\"}}}}",
            "2: the display name \"problem/gauge\" is that of a metric of nodewell's own",
        ),
    ] {
        let (diagnostics, _) = messages(text);
        assert_eq!(diagnostics, [diagnostic], "{text}");
        assert!(super::super::read(Path::new("m.json"), text).statistics.is_none(), "{text}");
    }
}

#[test]
fn differences_and_slips_that_do_no_harm_are_noted() {
    for (text, note) in [
        (
            "{\"cpu\": {\n\"metricConfigs\": {}}}",
            "2: unknown key \"metricConfigs\" is passed over; did you mean \"metricsConfigs\"?",
        ),
        ("{\"procPath\":\n\"/nowhere\"}", "2: there is no procfs at \"procPath\" \"/nowhere\": /proc is read"),
        (
            "{\"net\": {\"metricsConfigs\":\n{\"net/rx_bytes\": {\"displayName\": \"x\"}}}}",
            "2: without \"net/rx_packets\" Node Problem Detector would not start; here the others are exported",
        ),
        (
            "{\"cpu\": {\"metricsConfigs\": {\n\"cpu/usage_time\": {\"displayName\": \"x\"}}}}",
            "2: cpu/usage_time is in seconds, as documented; Node Problem Detector exports hundredths",
        ),
        (
            "{\"osFeature\": {\"metricsConfigs\": {\"system/os_feature\": {\"displayName\": \"x\"}},\n\"knownModulesConfigPath\": \"none.json\"}}",
            "2: known modules none.json: No such file or directory (os error 2); so every module from outside the kernel's \
             tree is an unknown one",
        ),
    ] {
        let (diagnostics, notes) = messages(text);
        assert_eq!(diagnostics, [""; 0], "{text}");
        assert!(notes.iter().any(|messages| messages == note), "{text}: {notes:#?}");
    }
}

#[test]
fn known_modules_lie_beside_the_config_and_have_errors_of_their_own() {
    let text = r#"{"osFeature": {"knownModulesConfigPath": "known/mine.json",
        "metricsConfigs": {"system/os_feature": {"displayName": "f"}}}}"#;
    let (_folder, loaded) =
        load(&[("m.json", text), ("known/mine.json", "[{\"ModuleName\": \"a\"}, {\"moduleName\": \"b\"}]")]);
    assert_eq!(loaded.set.statistics[0].known_modules, ["a", "b"]);
    let (folder, loaded) = load(&[("m.json", text), ("known/mine.json", "[{\"moduleName\":\n7}]")]);
    let messages = format!("{}/known/mine.json:2: \"moduleName\" takes a string, not 7", folder.path().display());
    assert_eq!(loaded.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>(), [messages]);
    assert!(loaded.set.statistics.is_empty());
}

#[test]
fn two_files_export_each_name_once() {
    let file = |id: &str, name: &str| {
        format!("{{\"cpu\": {{\"metricsConfigs\": {{\"{id}\": {{\"displayName\": \"{name}\"}}}}}}}}")
    };
    let (_folder, same) = load(&[("a.json", &file("cpu/load_1m", "x")), ("b.json", &file("cpu/load_1m", "x"))]);
    assert_eq!(same.diagnostics, []);
    assert_eq!(same.set.statistics.iter().map(|stats| stats.metrics.len()).sum::<usize>(), 1);
    assert!(same.notes.iter().any(|note| note.message.starts_with("cpu/load_1m is exported already, by ")));
    let (folder, other) = load(&[("a.json", &file("cpu/load_1m", "x")), ("b.json", &file("cpu/load_5m", "x"))]);
    let at = |name: &str| format!("{}/{name}:1", folder.path().display());
    let messages =
        format!("{}: cpu/load_5m would be called x to Prometheus, as cpu/load_1m is at {}", at("b.json"), at("a.json"));
    assert_eq!(other.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>(), [messages]);
}

proptest! {
    #[test]
    fn a_damaged_file_never_makes_it_panic(at in 0_usize..3000, length in 0_usize..40, junk in r#"[\[\]{}",:a0\\ä/ ]{0,8}"#) {
        let mut bytes = fs::read(Path::new(STOCK).join("system-stats-monitor.json")).unwrap();
        let start = at.min(bytes.len());
        bytes.splice(start..(start + length).min(bytes.len()), junk.bytes());
        let draft = super::super::read(Path::new("m.json"), &String::from_utf8_lossy(&bytes));
        for metric in draft.statistics.iter().flat_map(|stats| &stats.metrics) {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            prop_assert!(metric.name.chars().all(plain) && !metric.name.starts_with(|c: char| c.is_ascii_digit()));
        }
    }
}
