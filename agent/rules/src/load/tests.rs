//! What is read from where, and what the files together make.

mod hash;

use std::{fs, path::Path};

use super::*;
use crate::{Reader, explain::explain};

const CONDITION: &str = "[[condition]]\ntype = \"Sick\"\nhealthy-reason = \"Well\"\nhealthy-message = \"fine\"\n";

fn rule(reason: &str, pattern: &str) -> String {
    format!("[[rule]]\nreason = \"{reason}\"\ntype = \"temporary\"\npattern = '{pattern}'\nmatches = ['{pattern}']\n")
}

fn permanent(reason: &str) -> String {
    let text = rule(reason, reason).replace("temporary\"", "permanent\"\ncondition = \"Sick\"");
    format!("{text}clears = {{ quiet = \"5m\" }}\n")
}

fn npd(reason: &str, condition: &str, message: &str) -> String {
    format!(
        r#"{{"plugin": "kmsg", "source": "mine", "conditions": [{{"type": "{condition}", "reason": "Well", "message": "{message}"}}],
        "rules": [{{"type": "permanent", "condition": "Sick", "reason": "{reason}", "pattern": "x"}}]}}"#
    )
}

fn directory(files: &[(&str, String)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(directory.path().join(name), text).unwrap());
    directory
}

fn from(directory: &Path) -> LoadPlan {
    LoadPlan { rules: RulesFrom::Dirs(vec![directory.to_owned()]), ..LoadPlan::default() }
}

fn reasons(loaded: &Loaded) -> Vec<&str> {
    loaded.set.rules.iter().map(|rule| rule.reason.as_str()).collect()
}

fn messages(loaded: &Loaded) -> Vec<String> {
    let name = |location: &crate::Location| location.file.file_name().unwrap().to_string_lossy().into_owned();
    loaded.diagnostics.iter().map(|m| format!("{}:{} {}", name(&m.location), m.location.line, m.message)).collect()
}

#[test]
fn the_built_in_rules_have_no_errors() {
    let loaded = load(&LoadPlan::default());
    assert_eq!(loaded.diagnostics, []);
}

#[test]
fn a_file_of_the_same_name_masks_and_others_are_added_in_name_order() {
    let base = directory(&[("b.toml", rule("B", "b")), ("c.toml", rule("C", "c")), ("README.md", "x".to_owned())]);
    let over = directory(&[("b.toml", rule("Mine", "b")), ("a.toml", rule("A", "a")), (".b.toml", "!".to_owned())]);
    std::os::unix::fs::symlink("/dev/null", over.path().join("c.toml")).unwrap();
    let loaded = load(&LoadPlan { overrides: Some(over.path().to_owned()), ..from(base.path()) });
    assert_eq!(loaded.diagnostics, []);
    assert_eq!(reasons(&loaded), ["A", "Mine"]);
    let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    let of = |name: &str| {
        let [masked, by] = [&base, &over].map(|folder| folder.path().join(name).display().to_string());
        format!("{by}: no rule of {masked} is read: this file has its name and masks it")
    };
    assert_eq!(notes, [of("b.toml"), of("c.toml")]);
}

#[test]
fn a_missing_directory_is_fine_for_overrides_and_an_error_for_rules() {
    let missing = Path::new("/nonexistent/rules");
    let plan = LoadPlan { overrides: Some(missing.into()), monitors_dir: Some(missing.into()), ..LoadPlan::default() };
    assert_eq!(load(&plan).diagnostics, []);
    let diagnostics = load(&from(missing)).diagnostics;
    assert_eq!(diagnostics.len(), 1);
    assert!(diagnostics[0].to_string().starts_with("/nonexistent/rules: this directory of rules cannot be read"));
}

#[test]
fn a_directory_without_rules_is_an_error_unless_rules_are_named_elsewhere() {
    let empty = directory(&[("README.md", "x".to_owned()), (".a.toml", rule("A", "a"))]);
    let messages = load(&from(empty.path())).diagnostics;
    let start = format!("{}: holds no rule file (*.toml)", empty.path().display());
    assert!(matches!(messages.as_slice(), [messages] if messages.to_string().starts_with(&start)), "{messages:?}");
    let other = directory(&[("z.json", npd("Theirs", "Sick", ""))]);
    let [overrides, monitors_dir] = [(); 2].map(|()| Some(other.path().to_owned()));
    let plans = [
        LoadPlan { overrides, ..from(empty.path()) },
        LoadPlan { monitors_dir, ..from(empty.path()) },
        LoadPlan { npd: vec![other.path().join("z.json")], ..from(empty.path()) },
        LoadPlan { rules: RulesFrom::Dirs(vec![empty.path().into(), other.path().into()]), ..LoadPlan::default() },
    ];
    assert!(plans.iter().all(|plan| load(plan).diagnostics.is_empty()));
}

#[test]
fn files_that_cannot_be_rules_are_clear_errors() {
    let base = directory(&[("large.toml", "x".repeat(10 << 20)), ("nul.toml", "a\0 = 1\n".to_owned())]);
    fs::write(base.path().join("bytes.toml"), b"# ok\n# \xff\n").unwrap();
    fs::write(base.path().join("bytes.json"), b"{\n\"plugin\": \"\xff\"}").unwrap();
    fs::create_dir(base.path().join("folder.toml")).unwrap();
    std::os::unix::fs::symlink("/nonexistent", base.path().join("lost.toml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", base.path().join("zero.toml")).unwrap();
    let messages = messages(&load(&from(base.path())));
    assert_eq!(messages[0], "bytes.json:2 not valid UTF-8");
    assert_eq!(messages[1], "bytes.toml:2 not valid UTF-8");
    assert_eq!(messages[2], "folder.toml:0 is not a regular file");
    assert_eq!(messages[3], "large.toml:0 is larger than 1 MiB: no rule file");
    assert!(messages[4].starts_with("lost.toml:0 cannot be read"), "{messages:?}");
    assert!(messages[5].starts_with("nul.toml:1 not TOML"), "{messages:?}");
    assert_eq!(messages.last().unwrap(), "zero.toml:0 is not a regular file");
}

#[test]
fn garbage_is_told_within_bounds() {
    let base = directory(&[("garbage.toml", "]=[\n".repeat(200_000)), ("open.toml", "a = [".repeat(200_000))]);
    let diagnostics = load(&from(base.path())).diagnostics;
    assert!(!diagnostics.is_empty() && diagnostics.len() < 250, "{}", diagnostics.len());
}

#[test]
fn one_files_errors_hide_none_of_anothers() {
    let base = directory(&[("a.toml", "nonsense".to_owned()), ("b.toml", "[[rule]]\nreason = 5\n".to_owned())]);
    let messages = messages(&load(&from(base.path())));
    assert!(messages.iter().any(|messages| messages.starts_with("a.toml:1 not TOML")), "{messages:?}");
    assert!(messages.iter().any(|messages| messages.starts_with("b.toml:2 \"reason\" takes a string")), "{messages:?}");
}

#[test]
fn duplicates_across_files_name_both_places() {
    let base = directory(&[("a.toml", rule("Same", "x")), ("b.toml", format!("\n{}", rule("Same", "x")))]);
    let loaded = load(&from(base.path()));
    let first = base.path().join("a.toml");
    assert_eq!(messages(&loaded), [format!("b.toml:5 duplicate: Same has the same pattern at {}:4", first.display())]);
    assert_eq!(reasons(&loaded), ["Same"]);
}

#[test]
fn a_condition_is_declared_once_or_alike() {
    let other = CONDITION.replace("fine", "well");
    let base = directory(&[("a.toml", CONDITION.to_owned()), ("b.toml", CONDITION.to_owned()), ("c.toml", other)]);
    let loaded = load(&from(base.path()));
    assert_eq!(loaded.set.conditions.len(), 1);
    assert!(messages(&loaded)[0].starts_with("c.toml:1 the condition Sick is declared in other words at "));
    assert_eq!(loaded.diagnostics.len(), 1);
}

#[test]
fn node_problem_detectors_words_give_way_to_ours() {
    let base = directory(&[("a.toml", format!("{CONDITION}{}", permanent("Ours")))]);
    let monitors = directory(&[("z.json", npd("Theirs", "Sick", "other words")), ("z.toml", rule("Last", "l"))]);
    let loaded = load(&LoadPlan { monitors_dir: Some(monitors.path().to_owned()), ..from(base.path()) });
    assert_eq!(loaded.diagnostics, []);
    assert_eq!(reasons(&loaded), ["Ours", "Last", "Theirs"]);
    assert_eq!(loaded.set.conditions[0].healthy_message, "fine");
    assert!(loaded.notes.iter().any(|note| note.message.contains("in other words")), "{:?}", loaded.notes);
    assert_eq!(loaded.set.readers, [Reader::Kmsg]);
}

#[test]
fn a_condition_that_is_not_declared_makes_an_npd_rule_an_event() {
    let monitors = directory(&[("z.json", npd("Theirs", "Elsewhere", ""))]);
    let loaded = load(&LoadPlan { monitors_dir: Some(monitors.path().to_owned()), ..LoadPlan::default() });
    assert_eq!(loaded.diagnostics, []);
    let rule = loaded.set.rules.iter().find(|rule| rule.reason.as_str() == "Theirs").unwrap();
    assert_eq!((&rule.condition, rule.clears.boot), (&None, false));
    assert!(loaded.notes.iter().any(|note| note.message.starts_with("no file declares the condition Sick")));
}

#[test]
fn the_same_file_named_twice_is_read_once() {
    let monitors = directory(&[("z.json", npd("Theirs", "Sick", ""))]);
    let file = monitors.path().join("z.json");
    let plan =
        LoadPlan { npd: vec![file.clone()], monitors_dir: Some(monitors.path().to_owned()), ..LoadPlan::default() };
    let loaded = load(&plan);
    assert_eq!(reasons(&loaded).iter().filter(|reason| **reason == "Theirs").count(), 1);
    assert!(loaded.notes.iter().any(|note| note.message.starts_with("the same file as")));
}

/// A file of `plugin` whose monitor is named `kernel-monitor`.
fn named_alike(plugin: &str, reason: &str) -> String {
    let config = match plugin {
        "filelog" => r#"{"timestamp": "^.{15}", "message": "(.*)", "timestampFormat": "Jan _2 15:04:05"}"#,
        _ => r#"{"source": "x"}"#,
    };
    format!(
        r#"{{"plugin": "{plugin}", "source": "kernel-monitor", "logPath": "/var/log/{reason}", "pluginConfig": {config}, "rules": [
        {{"type": "temporary", "reason": "{reason}", "pattern": "x"}},
        {{"type": "temporary", "reason": "{reason}Again", "pattern": "y"}}]}}"#
    )
}

/// Each monitor, its reader, and the reasons of its rules.
fn monitors(loaded: &Loaded) -> Vec<(&str, usize, Vec<&str>)> {
    let mut found: Vec<(&str, usize, Vec<&str>)> = Vec::new();
    for rule in &loaded.set.rules {
        match found.iter_mut().find(|(monitor, reader, _)| (*monitor, *reader) == (&rule.monitor, rule.reader)) {
            Some((_, _, reasons)) => reasons.push(rule.reason.as_str()),
            None => found.push((&rule.monitor, rule.reader, vec![rule.reason.as_str()])),
        }
    }
    found
}

#[test]
fn two_readers_never_share_a_monitors_name() {
    let base = directory(&[("a.toml", rule("Ours", "o"))]);
    let names = ["filelog", "kmsg", "filelog", "journald", "journald"];
    let files: Vec<(String, String)> = (b'A'..)
        .zip(names)
        .map(|(letter, plugin)| (char::from(letter), plugin))
        .map(|(letter, plugin)| (format!("{letter}.json"), named_alike(plugin, &letter.to_string())))
        .collect();
    let files: Vec<(&str, String)> = files.iter().map(|(name, text)| (&**name, text.clone())).collect();
    let theirs = directory(&files);
    let loaded = load(&LoadPlan { monitors_dir: Some(theirs.path().to_owned()), ..from(base.path()) });
    assert_eq!(loaded.diagnostics, []);
    assert_eq!(
        monitors(&loaded),
        [
            ("kernel-monitor", 0, vec!["Ours", "B", "BAgain"]),
            ("kernel-monitor-filelog", 1, vec!["A", "AAgain"]),
            ("kernel-monitor-filelog-2", 2, vec!["C", "CAgain"]),
            ("kernel-monitor-journald", 3, vec!["D", "DAgain"]),
            ("kernel-monitor-journald-2", 4, vec!["E", "EAgain"]),
        ]
    );
    let messages: Vec<&Note> = loaded.notes.iter().filter(|note| note.message.contains("is named")).collect();
    let files: Vec<_> = messages.iter().map(|note| note.location.file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(files, ["A.json", "C.json", "D.json", "E.json"]);
    assert!(
        messages[0].message.ends_with("this one is \"kernel-monitor-filelog\"; name it yourself"),
        "{}",
        messages[0]
    );
}

#[test]
fn the_first_file_keeps_the_name_and_no_made_name_takes_another_files() {
    let taken = named_alike("kmsg", "K").replace("kernel-monitor", "kernel-monitor-kmsg");
    let taken = taken.replace("\"kmsg\"", "\"journald\"");
    let base = directory(&[
        ("a.json", named_alike("filelog", "First")),
        ("b.json", named_alike("kmsg", "Second")),
        ("c.json", taken),
    ]);
    let loaded = load(&from(base.path()));
    let names: Vec<&str> = monitors(&loaded).into_iter().map(|(name, _, _)| name).collect();
    assert_eq!(names, ["kernel-monitor", "kernel-monitor-kmsg-2", "kernel-monitor-kmsg"]);
}

#[test]
fn a_reason_is_explained_by_all_its_rules() {
    let base = directory(&[("a.toml", format!("{CONDITION}{}{}", permanent("Ours"), rule("Ours", "event")))]);
    let loaded = load(&from(base.path()));
    let explanation = explain(&loaded.set, "ours").unwrap();
    assert_eq!(explanation.reason.as_str(), "Ours");
    let kinds: Vec<&str> = explanation.rules.iter().map(|rule| rule.kind).collect();
    assert_eq!(kinds, ["permanent", "temporary"]);
    assert_eq!(explanation.rules[0].ends, ["when nothing repeats it for 5m", "with a new boot", "by `nodewell clear`"]);
    assert_eq!((explanation.rules[0].line, &*explanation.rules[0].source), (5, "kmsg"));
    assert!(explain(&loaded.set, "Unheard").is_none());
    assert_eq!(crate::explain::nearest_word("Ors", reasons(&loaded)), Some("Ours"));
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["rules"][0]["type"], "permanent");
}

#[test]
fn an_operators_words_on_xids_are_read_and_their_errors_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("xids.toml");
    let loaded = |words: &str| {
        fs::write(&file, words).unwrap();
        load(&LoadPlan { xids: Some(file.clone()), ..LoadPlan::default() })
    };
    let good = loaded("[[xid]]\ncode = 63\ncondition = 'GpuUnhealthy'\naction = 'reset-gpu'");
    assert_eq!(good.diagnostics, []);
    assert!(good.set.tables().xids.classify(63, None).unwrap().condition.is_some());
    let bad = loaded("[[xid]]\ncode = 63\nname = 'Other'\n[[xid]]\ncode = 62\ncondition = 'DiskUnhealthy'");
    let places: Vec<String> = bad.diagnostics.iter().map(|found| found.location.to_string()).collect();
    assert_eq!(places, [2, 5].map(|line| format!("{}:{line}", file.display())), "{:?}", bad.diagnostics);
    assert!(bad.set.tables.is_none(), "the shipped tables go on");
    let slip = loaded("[[xid]]\ncode = 63\nseverty = 'warn'");
    assert!(messages(&slip)[0].starts_with("xids.toml:3 unknown field `severty`"), "{:?}", slip.diagnostics);
    let missing = load(&LoadPlan { xids: Some(folder.path().join("none.toml")), ..LoadPlan::default() });
    assert!(missing.diagnostics[0].message.contains("cannot be read"), "{:?}", missing.diagnostics);
}

#[test]
fn shipped_rules_are_not_read_for_plug_ins_of_which_they_have_none() {
    assert_eq!(load(&LoadPlan::default()).set.plugins, []);
    let shipped: Vec<_> = shipped::FILES.iter().map(|file| (file.name, file.text.to_owned())).collect();
    let (installed, empty) = (directory(&shipped), directory(&[("README.md", String::new())]));
    let (overrides, monitors_dir) = (Some(empty.path().to_owned()), Some(empty.path().join("none")));
    for plan in [LoadPlan::default(), from(installed.path())] {
        for plan in
            [plan.clone(), LoadPlan { overrides: overrides.clone(), monitors_dir: monitors_dir.clone(), ..plan }]
        {
            let loaded = load_plugins(&plan);
            assert!(loaded.set.rules.is_empty() && loaded.diagnostics.is_empty(), "{plan:?}");
        }
    }
}

#[test]
fn what_is_not_shipped_is_read_for_its_plug_ins_and_its_errors() {
    const PLUGIN: &str = "[[plugin]]\nname = 'fans'\ncommand = '/bin/true'\nreason = 'FanStopped'\n";
    let mut shipped: Vec<_> = shipped::FILES.iter().map(|file| (file.name, file.text.to_owned())).collect();
    let installed = directory(&shipped);
    let (name, text) = shipped.pop().unwrap();
    let lacking = directory(&shipped);
    let changed = directory(&[&shipped[..], &[(name, format!("{text}{PLUGIN}"))]].concat());
    let added = directory(&[("mine.toml", PLUGIN.to_owned())]);
    let broken = directory(&[("mine.toml", "nonsense".to_owned())]);
    let some = |directory: &tempfile::TempDir| Some(directory.path().to_owned());
    let both = RulesFrom::Dirs(vec![installed.path().to_owned(), added.path().to_owned()]);
    for (plan, plugins, has_errors) in [
        (LoadPlan { overrides: some(&added), ..LoadPlan::default() }, 1, false),
        (LoadPlan { monitors_dir: some(&added), ..from(installed.path()) }, 1, false),
        (LoadPlan { rules: both, ..LoadPlan::default() }, 1, false),
        (from(changed.path()), 1, false),
        (from(lacking.path()), 0, false),
        (LoadPlan { overrides: some(&broken), ..LoadPlan::default() }, 0, true),
        (LoadPlan { npd: vec![broken.path().join("mine.toml")], ..LoadPlan::default() }, 0, true),
        (LoadPlan { xids: Some(broken.path().join("none.toml")), ..LoadPlan::default() }, 0, true),
        (from(&added.path().join("none")), 0, true),
    ] {
        let loaded = load_plugins(&plan);
        assert_eq!((loaded.set.plugins.len(), !loaded.diagnostics.is_empty()), (plugins, has_errors), "{plan:?}");
        assert!(has_errors || !loaded.set.rules.is_empty(), "{plan:?}");
    }
}
