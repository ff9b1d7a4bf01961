//! What is written gives the same rules as the file did, for all stock files and for rules that nothing covers.

mod hidden;
mod property;
mod shipped;

use std::{
    fs,
    path::{Path, PathBuf},
};

use nodewell_model::{ConditionSpec, Name, Severity};

use super::{pattern, *};
use crate::{
    Rule, RuleSet,
    plugin::{PluginMonitor, Task},
    rule::{Clears, Counting, FieldFilter, Format, Reader},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/npd")
}

fn stock(name: &str) -> NpdFile {
    let path = folder().join(name);
    NpdFile { text: fs::read_to_string(&path).unwrap(), path }
}

fn all_stock_files() -> Vec<NpdFile> {
    let names = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    assert!(names.len() >= 18, "{names:?}");
    names.iter().map(|name| stock(name)).collect()
}

fn mine(json: &str) -> NpdFile {
    NpdFile { path: "mine.json".into(), text: json.to_owned() }
}

/// A monitor of the kernel's log with these rules.
fn kernel(rules: &str) -> NpdFile {
    let condition = r#"{"type": "Sick", "reason": "Fine", "message": "all is fine"}"#;
    mine(&format!(
        r#"{{"plugin": "kmsg", "source": "kernel-monitor", "lookback": "5m", "conditions": [{condition}], "rules": [{rules}]}}"#
    ))
}

fn loaded(files: &[NewFile], beside: Beside) -> Loaded {
    let rules = files.iter().filter(|file| file.name.parent() == Some(Path::new(FOLDER)));
    load_with(&beside.rules(), rules.map(|file| (file.name.as_path(), file.text.as_str())))
}

fn fates(imported: &Imported) -> Vec<(Fate, &str)> {
    let of_rules = imported.items.iter().filter_map(|item| Some((item.fate, item.text.split_once(": ")?.0)));
    let is_reason = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase()) && !text.contains(' ');
    of_rules.filter(|(_, reason)| is_reason(reason)).collect()
}

fn text_of<'a>(imported: &'a Imported, name: &str) -> &'a str {
    let found = imported.files.iter().find(|file| file.name == Path::new(name));
    &found.unwrap_or_else(|| panic!("no {name} in {:?}", imported.files)).text
}

/// What a rule is, wherever it stands: of several patterns each is one.
#[derive(Debug, Clone, PartialEq)]
struct Meaning {
    reason: Name,
    condition: Option<Name>,
    severity: Severity,
    reader: String,
    lines: usize,
    fields: FieldFilter,
    counting: Option<Counting>,
    clears: Clears,
    shows_healthy_condition: bool,
    pattern: String,
}

fn meanings(set: &RuleSet) -> Vec<Meaning> {
    let of_rule = |rule: &Rule| {
        let native = |written: &String| match rule.format {
            Format::Native => written.clone(),
            Format::Npd => pattern::native(written, rule.lines).unwrap_or_else(|_| written.clone()),
        };
        let counting = rule.counting.clone().map(|counting| {
            let revert = counting.revert.iter().map(native).collect();
            Counting { revert, ..counting }
        });
        let meaning = |pattern: &String| Meaning {
            reason: rule.reason.clone(),
            condition: rule.condition.clone(),
            severity: rule.severity,
            reader: reader(&set.readers[rule.reader]),
            lines: rule.lines,
            fields: rule.fields.clone(),
            counting: counting.clone(),
            clears: rule.clears.clone(),
            shows_healthy_condition: rule.shows_healthy_condition,
            pattern: native(pattern),
        };
        rule.patterns.iter().map(meaning).collect::<Vec<_>>()
    };
    let mut all: Vec<Meaning> = set.rules.iter().flat_map(of_rule).collect();
    all.sort_by_key(|meaning| format!("{meaning:?}"));
    all.dedup();
    all
}

/// The log that is read, and what of its lines; times are read in the same way by another word.
fn reader(reader: &Reader) -> String {
    match reader {
        Reader::File(file) => {
            let message = file.message.as_deref().map(pattern::bare);
            format!("{:?} {message:?} {:?}", file.paths, file.skip)
        }
        other => format!("{other:?}"),
    }
}

type Run = (Name, Option<Name>, Severity, Task, [u128; 2], usize, (bool, bool));

fn runs(set: &RuleSet) -> Vec<Run> {
    let of_monitor = |monitor: &PluginMonitor| {
        let flags = (monitor.skip_initial, monitor.follows_message);
        let tasks = monitor.tasks.iter().map(move |task| {
            let times = [task.interval.as_millis(), task.timeout.as_millis()];
            let means = (task.reason.clone(), task.condition.clone(), task.severity);
            (means.0, means.1, means.2, task.task.clone(), times, task.output_limit_bytes, flags)
        });
        tasks.collect::<Vec<_>>()
    };
    let mut all: Vec<Run> = set.plugins.iter().flat_map(of_monitor).collect();
    all.sort_by_key(|run| format!("{run:?}"));
    all
}

fn conditions(set: &RuleSet) -> Vec<ConditionSpec> {
    let mut all = set.conditions.clone();
    all.sort_by(|one, other| one.condition.cmp(&other.condition));
    all
}

fn figures(set: &RuleSet) -> Vec<String> {
    set.statistics.iter().flat_map(|stats| &stats.metrics).map(|metric| metric.name.clone()).collect()
}

/// Loads the files as they are and as they are written, with no other rules.
fn assert_same(files: &[NpdFile]) -> Imported {
    let texts = files.iter().map(|file| (file.path.as_path(), file.text.as_str()));
    let before = load_with(&Beside::Nothing.rules(), texts);
    assert_eq!(before.diagnostics, []);
    let imported = import(files, Beside::Nothing).unwrap();
    let after = loaded(&imported.files, Beside::Nothing);
    assert_eq!(after.diagnostics, [], "{:#?}", imported.files);
    assert_eq!(check_examples_where(&after.set, |_| true), []);
    let covered: Vec<&str> =
        fates(&imported).into_iter().filter(|(fate, _)| *fate == Fate::Covered).map(|(_, reason)| reason).collect();
    let is_left = |run: &Run| !covered.contains(&run.0.as_str());
    assert_eq!(meanings(&after.set), meanings(&before.set));
    assert_eq!(runs(&after.set), runs(&before.set).into_iter().filter(is_left).collect::<Vec<_>>());
    assert_eq!(figures(&after.set), figures(&before.set));
    let held: Vec<Option<Name>> = meanings(&after.set).into_iter().map(|meaning| meaning.condition).collect();
    let held: Vec<Option<Name>> = held.into_iter().chain(runs(&after.set).into_iter().map(|run| run.1)).collect();
    let written = conditions(&after.set);
    for spec in conditions(&before.set) {
        let is_needed = covered.is_empty() || held.contains(&Some(spec.condition.clone()));
        assert!(written.contains(&spec) || !is_needed, "{spec:?} of {written:?}");
    }
    imported
}

#[test]
fn each_stock_file_gives_the_same_rules_as_it_is_and_as_it_is_written() {
    for file in all_stock_files() {
        assert_same(std::slice::from_ref(&file));
    }
}

#[test]
fn all_stock_files_together_give_the_same_rules() {
    let imported = assert_same(&all_stock_files());
    let names: Vec<String> = imported.files.iter().map(|file| file.name.display().to_string()).collect();
    for (name, is_written) in [
        ("monitors.d/abrt-adaptor.toml", true),
        ("monitors.d/kernel-monitor.toml", true),
        ("monitors.d/custom-plugin-monitor.toml", true),
        ("monitors.d/custom-plugin-monitor.json", false),
        ("monitors.d/disk-log-message-filelog.toml", true),
        ("monitors.d/docker-monitor-filelog.json", true),
        ("monitors.d/docker-monitor-filelog.toml", false),
        ("monitors.d/system-stats-monitor.json", true),
        ("monitors.d/guestosconfig/known-modules.json", true),
        ("monitors.d/health-checker-kubelet.json", false),
    ] {
        assert_eq!(names.iter().any(|known| known == name), is_written, "{name} in {names:?}");
    }
}

#[test]
fn a_rule_of_ones_own_is_written_with_a_line_that_it_finds() {
    let rules = r#"{"type": "permanent", "condition": "Sick", "reason": "FirmwareFailed",
        "pattern": "mydrv [a-z]+: firmware (crashed|hung) \\d+ times", "patternGeneratedMessageSuffix": "see wiki/mydrv"},
        {"type": "temporary", "reason": "FirmwareSlow", "pattern": "^mydrv: slow.*"},
        {"type": "temporary", "reason": "FirmwareSlow", "pattern": "mydrv: sluggish$"}"#;
    let file = kernel(rules);
    let imported = import(std::slice::from_ref(&file), Beside::Shipped).unwrap();
    let text = text_of(&imported, "monitors.d/mine.toml");
    for part in [
        "# Taken over from Node Problem Detector's mine.json by `nodewell import-npd`.\n\n[[condition]]\ntype = \"Sick\"\n",
        "pattern = 'mydrv [a-z]+: firmware (crashed|hung) \\d+ times\\s*$'\nclears = { boot = true }\n",
        "explain = \"see wiki/mydrv\"\n",
        "matches = [\"mydrv a: firmware crashed 1 times\"]\n",
        "pattern = [\n    '^\\s*mydrv: slow.*$',\n    'mydrv: sluggish\\s*$',\n]\n",
    ] {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
    let after = loaded(&imported.files, Beside::Shipped);
    assert_eq!(after.diagnostics, []);
    assert_eq!(check_examples_where(&after.set, |rule| rule.location.file.starts_with(FOLDER)), []);
    assert_eq!(
        fates(&imported),
        [(Fate::Changed, "FirmwareFailed"), (Fate::Same, "FirmwareSlow"), (Fate::Same, "FirmwareSlow")]
    );
    assert_same(&[file]);
}

#[test]
fn what_has_no_counterpart_stays_and_the_rest_is_native() {
    let rules = r#"{"type": "permanent", "condition": "XfsShutdown", "reason": "MyFsFailed", "pattern": "myfs: gave up"},
        {"type": "temporary", "reason": "MyFsSlow", "pattern": "myfs: slow"},
        {"type": "temporary", "reason": "Everything", "pattern": ".*"}"#;
    let file = kernel(rules);
    let imported = import(std::slice::from_ref(&file), Beside::Shipped).unwrap();
    assert_eq!(fates(&imported), [(Fate::Kept, "MyFsFailed"), (Fate::Same, "MyFsSlow"), (Fate::Kept, "Everything")]);
    let left: serde_json::Value = serde_json::from_str(text_of(&imported, "monitors.d/mine.json")).unwrap();
    let reasons: Vec<&str> =
        left["rules"].as_array().unwrap().iter().map(|rule| rule["reason"].as_str().unwrap()).collect();
    assert_eq!((reasons, left["plugin"].as_str()), (vec!["MyFsFailed", "Everything"], Some("kmsg")));
    let why = &imported.items.iter().find(|item| item.text.starts_with("MyFsFailed")).unwrap().text;
    assert!(why.contains("in monitors.d/mine.json: its problem ends by a look at the host"), "{why}");
    assert_same(&[file]);
}

/// In the words of its files: its administrators know `source` and `lookback`.
#[test]
fn what_changes_is_said_in_the_words_of_node_problem_detector() {
    let text = kernel(r#"{"type": "temporary", "reason": "MyDriverSlow", "pattern": "mydrv: slow"}"#).text;
    let text = text.replace("\"kernel-monitor\"", "\"mine-monitor\"").replace("\"5m\"", "\"20m\"");
    let imported = import(&[mine(&text)], Beside::Shipped).unwrap();
    for part in [
        "Events of its rules have the source kernel-monitor, not mine-monitor",
        "lookback (20m) is not used: ",
        "a % in a line of the log stays as it is; ",
        "not those that programs write to /dev/kmsg",
    ] {
        let is_said = |item: &Item| item.fate == Fate::Changed && item.text.contains(part);
        assert!(imported.items.iter().any(is_said), "no {part:?} in {:#?}", imported.items);
    }
}

#[test]
fn counters_delays_and_other_journals() {
    let counter = |name: &str, args: &str| {
        format!(
            r#"{{"type": "permanent", "condition": "Sick", "reason": "{name}", "path": "/x/log-counter", "args": [{args}]}}"#
        )
    };
    let rules = [
        counter("Often", r#""--journald-source=mydaemon", "--lookback=10m", "--count=3", "--pattern=gave up$""#),
        counter("Often", r#""--journald-source=mydaemon", "--lookback=10m", "--count=3", "--pattern=came back$""#),
        counter("Once", r#""--journald-source=mydaemon", "--lookback=10m", "--pattern=lost .*""#),
        counter(
            "Late",
            r#""--journald-source=mydaemon", "--lookback=10m", "--count=3", "--delay=5m", "--pattern=late""#,
        ),
        counter(
            "Elsewhere",
            r#""--journald-source=mydaemon", "--log-path=/srv/journal", "--lookback=1m", "--pattern=x""#,
        ),
        r#"{"type": "temporary", "reason": "NoAnswer", "path": "/opt/check.sh", "args": ["-H", "10.0.0.1"]}"#
            .to_owned(),
        r#"{"type": "temporary", "reason": "NoAnswer", "path": "/opt/check.sh", "args": [""]}"#.to_owned(),
    ];
    let file = mine(&format!(
        r#"{{"plugin": "custom", "source": "mine", "conditions": [{{"type": "Sick", "reason": "Fine", "message": ""}}],
        "rules": [{}]}}"#,
        rules.join(", ")
    ));
    let imported = import(&[file], Beside::Shipped).unwrap();
    let expected = [
        (Fate::Same, "Often"),
        (Fate::Same, "Once"),
        (Fate::Kept, "Late"),
        (Fate::Kept, "Elsewhere"),
        (Fate::Changed, "NoAnswer"),
        (Fate::Kept, "NoAnswer"),
    ];
    let mut found = fates(&imported);
    found.sort_by_key(|(_, reason)| expected.iter().position(|(_, known)| known == reason));
    assert_eq!(found, expected, "{imported:#?}");
    let text = text_of(&imported, "monitors.d/mine.toml");
    assert_eq!(text.matches("\ncount = 3\n").count(), 2, "each counts its own lines: {text}");
    for part in [
        "where = { SYSLOG_IDENTIFIER = \"mydaemon\" }\ncount = 3\nwindow = \"10m\"\nclears = { boot = true }\n",
        "pattern = 'lost .*$'\nwhere = { SYSLOG_IDENTIFIER = \"mydaemon\" }\nclears = { quiet = \"10m\", boot = true }\n",
        "matches = [{ text = \"gave up\", fields = { SYSLOG_IDENTIFIER = \"mydaemon\" } }]\n",
        "healthy-message = \"no problem is known\"\n",
        "[[plugin]]\nname = \"no-answer\"\ncommand = [\"/opt/check.sh\", \"-H\", \"10.0.0.1\"]\n",
    ] {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
    let after = loaded(&imported.files, Beside::Shipped);
    assert_eq!((after.diagnostics.len(), after.set.plugins.len()), (0, 2), "{:?}", after.diagnostics);
}

#[test]
fn names_are_there_once() {
    let log = |path: &str, layout: &str| NpdFile {
        path: path.into(),
        text: format!(
            r#"{{"plugin": "filelog", "source": "My Log", "logPath": "/var/log/{layout}.log", "pluginConfig": {{
            "timestamp": "^.{{15}}", "message": "app: (.*)", "timestampFormat": "Jan _2 15:04:05"}},
            "rules": [{{"type": "temporary", "reason": "AppFailed", "pattern": "failed in {layout}"}}]}}"#
        ),
    };
    let files = [log("a/app.json", "one"), log("b/app.json", "two")];
    let imported = import(&files, Beside::Shipped).unwrap();
    let names: Vec<&str> = imported.files.iter().filter_map(|file| file.name.to_str()).collect();
    assert_eq!(names, ["monitors.d/app.toml", "monitors.d/app-2.toml"]);
    assert!(text_of(&imported, "monitors.d/app-2.toml").contains("name = \"my-log-2\"\n"));
    assert!(text_of(&imported, "monitors.d/app.toml").contains("timestamp = \"syslog\"\nmessage = 'app: (.*)'\n"));
    assert_same(&files);
}

#[test]
fn errors_are_reported_and_nothing_is_written() {
    let bad = kernel(r#"{"type": "temporary", "reason": "A", "pattern": "(a"}"#);
    let errors = import(&[stock("abrt-adaptor.json"), bad], Beside::Shipped).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].to_string(), "mine.json:1: invalid regex in \"pattern\": unclosed group");
    let empty = import(&[mine("{\"plugin\": \"kmsg\"}")], Beside::Shipped).unwrap();
    assert_eq!((empty.files.len(), empty.items[0].text.as_str()), (0, "it has no rules"));
}

/// A path of the container is one of this machine by chance alone, and may be what has no end.
#[test]
fn modules_that_are_no_file_or_lie_elsewhere_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("modules.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (sender, answers) = std::sync::mpsc::channel();
    for name in ["modules.json".to_owned(), pipe.display().to_string()] {
        let text = format!(
            r#"{{"osFeature": {{"metricsConfigs": {{"system/os_feature": {{"displayName": "x"}}}},
            "knownModulesConfigPath": "{name}"}}}}"#
        );
        let (file, sender) = (NpdFile { path: folder.path().join("stats.json"), text }, sender.clone());
        std::thread::spawn(move || {
            let imported = import(&[file], Beside::Shipped);
            let _ = sender.send(imported.map(|imported| imported.files.len()));
        });
        let files = answers.recv_timeout(std::time::Duration::from_secs(180)).expect("nothing is waited for");
        assert_eq!(files, Ok(1), "{name}");
    }
}

#[test]
fn two_lists_of_modules_of_one_name_are_an_error_unless_they_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    let statistics = |name: &str, modules: &str| {
        let own = folder.path().join(name);
        fs::create_dir_all(own.join("lists")).unwrap();
        fs::write(own.join("lists/modules.json"), modules).unwrap();
        let text = format!(
            r#"{{"osFeature": {{"metricsConfigs": {{"system/os_feature": {{"displayName": "{name}"}}}},
            "knownModulesConfigPath": "lists/modules.json"}}}}"#
        );
        NpdFile { path: own.join("stats.json"), text }
    };
    let (one, other) = (r#"[{"moduleName": "zfs"}]"#, r#"[{"moduleName": "nvidia"}]"#);
    let alike = import(&[statistics("a", one), statistics("b", one)], Beside::Shipped).unwrap();
    let names: Vec<&str> = alike.files.iter().filter_map(|file| file.name.to_str()).collect();
    assert_eq!(names, ["monitors.d/stats.json", "monitors.d/lists/modules.json", "monitors.d/stats-2.json"]);
    let errors = import(&[statistics("a", one), statistics("b", other)], Beside::Shipped).unwrap_err();
    assert_eq!(errors.len(), 1);
    let error = errors[0].to_string();
    assert!(error.contains("b/stats.json: monitors.d/lists/modules.json comes of another file already"), "{error}");
}
