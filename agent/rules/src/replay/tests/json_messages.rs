//! Journals of programs that write objects: what is judged is the text that such an object stands for.

use super::*;

const STATUS: &str = r#"{"ts":1700000000000.1,"caller":"kubelet/kubelet.go:2421","msg":"Sync","v":0,"source":"api"}"#;
const FAILED: &str = concat!(
    r#"{"ts":1700000000123.4567,"caller":"kubelet/kubelet.go:1431","#,
    r#""msg":"Failed to start ContainerManager","err":"system validation failed"}"#,
);
const FAILED_TEXT: &str = concat!(
    r#"E1114 22:13:20.123456       0 kubelet.go:1431] "#,
    r#""Failed to start ContainerManager" err="system validation failed""#,
);

/// An entry of `unit` as `journalctl -o json` writes it.
fn entry(unit: &str, transport: &str, message: &str) -> String {
    let entry = serde_json::json!({ "MESSAGE": message, "_SYSTEMD_UNIT": unit, "_TRANSPORT": transport });
    format!("{entry}\n")
}

/// An entry of `program` as `journalctl -o short` writes it.
fn short(program: &str, message: &str) -> String {
    format!("Nov 14 22:13:20 node-1 {program}: {message}\n")
}

fn journal(rule: Rule) -> Rule {
    Rule { reader: 1, ..rule }
}

#[test]
fn a_kubelet_that_writes_objects_is_found_by_a_shipped_rule() {
    let set = Arc::new(load(&LoadPlan::default()).set);
    let logs = [
        short("kubelet[812]", STATUS) + &short("kubelet[812]", FAILED),
        entry("kubelet.service", "stdout", STATUS) + &entry("kubelet.service", "stdout", FAILED),
    ];
    for (log, part_bytes) in logs.iter().flat_map(|log| [(log, None), (log, Some(100))]) {
        let found = found_by(ahead(part_bytes), &set, Format::Auto, log.as_bytes());
        let [finding] = &found[..] else { panic!("{log}: {found:?}") };
        let shown = (finding.line, finding.reason.as_str(), finding.message.as_str());
        assert_eq!(shown, (2, "KubeletStartFailed", FAILED_TEXT), "{log}");
    }
}

#[test]
fn a_runtime_that_writes_objects_is_found_by_a_shipped_rule() {
    let set = Arc::new(load(&LoadPlan::default()).set);
    let message = r#"{"error":"why","level":"fatal","msg":"Failed to run CRI service","time":"2026-02-07T02:49:40Z"}"#;
    let text = r#"time="2026-02-07T02:49:40Z" level=fatal msg="Failed to run CRI service" error=why"#;
    for log in [short("containerd[640]", message), entry("containerd.service", "stdout", message)] {
        let found = found_by(Ahead::default(), &set, Format::Auto, log.as_bytes());
        let [finding] = &found[..] else { panic!("{log}: {found:?}") };
        assert_eq!((finding.reason.as_str(), finding.message.as_str()), ("ContainerRuntimeCrash", text), "{log}");
    }
}

/// Also where no piece of the pattern is in the object.
#[test]
fn a_pattern_sees_the_text_alone() {
    let rules = || vec![journal(rule("Text", r"^E1114 22:13:20\.\d+ ")), journal(rule("Object", r#"^\{"ts":17"#))];
    for (format, log) in [
        (Format::Syslog, short("kubelet[812]", FAILED)),
        (Format::JournalJson, entry("kubelet.service", "stdout", FAILED)),
    ] {
        let found = found(rules(), format, log);
        let reasons: Vec<_> = found.iter().map(|finding| finding.reason.as_str()).collect();
        assert_eq!(reasons, ["Text"], "{format:?}");
    }
}

#[test]
fn the_kernels_lines_and_other_objects_stay_as_they_are() {
    let rules = || vec![rule("Kernel", r#"^\{"ts":17"#), journal(rule("Journal", r#"^\{"[a-z]+":1"#))];
    for (format, log) in [
        (Format::Syslog, short("kernel", FAILED) + &short("app[7]", r#"{"a":1,"msg":"x"}"#)),
        (Format::JournalJson, entry("", "kernel", FAILED) + &entry("app.service", "stdout", r#"{"a":1,"msg":"x"}"#)),
    ] {
        let found = found(rules(), format, log);
        let seen: Vec<_> = found.iter().map(|finding| (finding.line, finding.reason.as_str())).collect();
        assert_eq!(seen, [(1, "Kernel"), (1, "Journal"), (2, "Journal")], "{format:?}");
    }
}

#[test]
fn a_rule_of_several_lines_looks_back_at_texts() {
    let two = || journal(Rule { lines: 2, ..rule("Two", r"^E1114 [^\n]*\ngave up$") });
    for (format, log) in [
        (Format::Syslog, short("kubelet[812]", FAILED) + &short("app[7]", "gave up")),
        (Format::JournalJson, entry("kubelet.service", "stdout", FAILED) + &entry("app.service", "stdout", "gave up")),
    ] {
        assert_eq!(lines(&found(vec![two()], format, log)), [2], "{format:?}");
    }
}
