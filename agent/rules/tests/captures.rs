//! Kernel logs of real faults, replayed through the shipped rules: exactly what `captures/expected.tsv` lists.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use nodewell_rules::{Format, LoadPlan, Replay, ReplayOptions, RuleSet, RulesFrom, load, replay::ReplayKind};

/// (reason, condition, subject, kind, severity).
type Verdict = [String; 5];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

fn shipped() -> Arc<RuleSet> {
    let plan = LoadPlan { rules: RulesFrom::BuiltIn, ..LoadPlan::default() };
    let loaded = load(&plan);
    assert_eq!(loaded.diagnostics, []);
    Arc::new(loaded.set)
}

/// What the table expects of `file`; `None` if the table does not list it.
fn expected() -> BTreeMap<String, BTreeMap<Verdict, u64>> {
    let table = std::fs::read_to_string(folder().join("expected.tsv")).unwrap();
    let mut expected: BTreeMap<String, BTreeMap<Verdict, u64>> = BTreeMap::new();
    for row in table.lines().filter(|line| !line.starts_with(['#', ' '])).skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [file, reason, condition, subject, kind, severity, _proof, count] = cells[..] else { panic!("{row:?}") };
        let verdicts = expected.entry(file.to_owned()).or_default();
        if reason != "-" {
            verdicts.insert([reason, condition, subject, kind, severity].map(str::to_owned), count.parse().unwrap());
        }
    }
    expected
}

fn replayed(rules: &Arc<RuleSet>, path: &Path) -> BTreeMap<Verdict, u64> {
    let mut found: BTreeMap<Verdict, u64> = BTreeMap::new();
    let options = ReplayOptions { unproven: true, ..ReplayOptions::default() };
    let replay = Replay::new(Arc::clone(rules), Format::Auto).with_options(options);
    replay
        .run(File::open(path).unwrap(), |finding| {
            let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
            let kind = if finding.kind == ReplayKind::Raise { "raise" } else { "clear" };
            let verdict = [
                finding.reason.to_string(),
                or_dash(finding.condition.as_ref().map(|condition| condition.as_str())),
                or_dash(finding.subject.as_deref()),
                kind.to_owned(),
                if kind == "raise" { finding.severity.to_string() } else { "-".to_owned() },
            ];
            *found.entry(verdict).or_default() += 1;
        })
        .unwrap();
    found
}

#[test]
fn every_capture_gives_its_verdicts_and_no_other() {
    let rules = shipped();
    let expected = expected();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        if file == "expected.tsv" {
            continue;
        }
        let wanted = expected.get(&file).unwrap_or_else(|| panic!("{file} is not in expected.tsv"));
        let found = replayed(&rules, &path);
        if found != *wanted {
            wrong.push(format!("{file}\n  expected {wanted:#?}\n  found {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
