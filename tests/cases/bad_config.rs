//! Every error is reported at once, with its file and line, and nothing is started.

use std::{collections::BTreeSet, ffi::OsString, fs, path::Path};

use nodewell_tests::{
    agent::Plan,
    cli::{binary, nodewell, nodewelld},
    process::Process,
    suite::Suite,
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("bad_config")
        .case("errors_of_the_config_have_lines", errors_of_the_config_have_lines)
        .case("errors_of_the_rules_have_lines", errors_of_the_rules_have_lines)
        .case("errors_of_an_npd_config_have_lines", errors_of_an_npd_config_have_lines)
        .case("check_says_what_nodewelld_says", check_says_what_nodewelld_says)
        .case("a_program_that_is_missing_is_no_error", a_program_that_is_missing_is_no_error)
        .case("wrong_usage_is_no_config_error", wrong_usage_is_no_config_error);
}

const BAD_RULES: &str = r#"[[rule]]
reason = "First"
type = "temporary"
source = "kmsg"
severity = "loud"
pattern = '^broken ('
matches = ["broken"]
colour = "red"

[[rule]]
reason = "Second"
type = "permanent"
condition = "NobodyKnowsIt"
source = "kmsg"
severity = "warn"
pattern = '^second'
clears = { boot = true }
matches = ["something else"]
"#;

const BAD_NPD: &str = r#"{
 "plugin": "kmsg",
 "rules": [
  {"type": "temporary", "reason": "A", "pattern": "("}
 ]
}
"#;

/// Runs until it refuses; gives its output.
fn refused(plan: &Plan) -> String {
    let outcome = nodewelld(plan.args());
    assert_eq!(outcome.code, 78, "{outcome:?}");
    outcome.stderr
}

fn expect_lines(output: &str, file: &Path, lines: &[usize]) {
    for line in lines {
        let place = format!("{}:{line}: ", file.display());
        assert!(output.lines().any(|one| one.starts_with(&place)), "nothing about {place}in:\n{output}");
    }
}

fn errors_of_the_config_have_lines() {
    let plan = Plan::default();
    let file =
        plan.file("nodewell.toml", "node-nam = \"a\"\n[kmsg]\nfacilities = [99]\n[journal]\nlookback = \"soon\"\n");
    expect_lines(&refused(&plan), &file, &[1, 3, 5]);
}

fn errors_of_the_rules_have_lines() {
    let plan = Plan::default().rules(BAD_RULES);
    let file = plan.folder().join("rules/test.toml");
    expect_lines(&refused(&plan), &file, &[5, 6, 8, 13]);
}

fn errors_of_an_npd_config_have_lines() {
    let plan = Plan::default();
    let file = plan.file("bad.json", BAD_NPD);
    let plan = plan.flag("--npd-config", &file);
    expect_lines(&refused(&plan), &file, &[4]);
}

/// Names and texts, and what is printed of them.
type BadFiles = (&'static [(&'static str, &'static str)], &'static [&'static str]);

/// Files of a folder `@`, and where its `nodewell.toml` and what it names have errors.
const BAD_FILES: [BadFiles; 9] = [
    (
        &[(
            "nodewell.toml",
            r#"node-name = "Worker_7"
kubeconfig = ""
standalone = "yes"
npd-config = "/etc/kernel-monitor.json"
node-nam = "a"
[kmsg]
facilities = [99]
lookback = "soon"
[disk]
ignore = "sdx"
interval = "1s"
[limits]
zombies = [100, 200]
[clok]
"#,
        )],
        &["nodewell.toml:1: ", "nodewell.toml:4: ", "nodewell.toml:5: ", "nodewell.toml:8: ", "nodewell.toml:10: "],
    ),
    (&[("nodewell.toml", "node-name = \"a\"\n[kmsg\n")], &["nodewell.toml:"]),
    (&[("nodewell.toml", "node-nam = \"worker-7\"\n")], &["nodewell.toml:1: "]),
    (
        &[("nodewell.toml", "[[grant]]\nunit = \"raid\"\nconditions = \"RaidProblem\"\n[[mute]]\nreason = \"a b\"\n")],
        &["nodewell.toml:2: ", "nodewell.toml:3: ", "nodewell.toml:5: "],
    ),
    (
        &[(
            "nodewell.toml",
            r#"[[grant]]
unit = "raid.service"
conditions = ["MoonUnhealthy"]
[[mute]]
reason = "IOError"
condition = "MoonUnhealthy"
until = 2027-01-01T00:00:00Z
why = "the moon is far"
"#,
        )],
        &["nodewell.toml:1: ", "nodewell.toml:4: "],
    ),
    (&[("nodewell.toml", "npd-config = [\"@/bad.json\"]\n"), ("bad.json", BAD_NPD)], &["bad.json:4: "]),
    (
        &[("nodewell.toml", "rules = [\"@/rules\"]\n"), ("rules/bad.toml", BAD_RULES)],
        &["bad.toml:5: ", "bad.toml:13: "],
    ),
    (
        &[("nodewell.toml", "node-name = \"a\"\n"), ("nodewell.toml.d/10.toml", "[kmsg]\nlookback = \"soon\"\n")],
        &["10.toml:2: "],
    ),
    (&[], &["nodewell.toml: "]),
];

/// The same file, read by each of the three that read it.
fn check_says_what_nodewelld_says() {
    for (files, expected) in BAD_FILES {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace('@', &folder.path().display().to_string())).unwrap();
        }
        let file = folder.path().join("nodewell.toml").into_os_string();
        let daemon = of(folder.path(), &refused_by_daemon(folder.path(), &file));
        for place in expected {
            assert!(daemon.iter().any(|line| line.contains(&format!("/{place}"))), "nothing of {place} in {daemon:#?}");
        }
        for args in [vec!["check".into(), file.clone()], vec!["check".into(), "--config".into(), file.clone()]] {
            let outcome = nodewell(&args);
            assert_eq!((outcome.code, of(folder.path(), &outcome.stdout)), (78, daemon.clone()), "{args:?}");
        }
    }
}

/// What it prints before it ends, as the only one of the three that would start something.
fn refused_by_daemon(folder: &Path, file: &OsString) -> String {
    let path = |name: &str| folder.join(name).into_os_string();
    let mut argv = vec![binary("nodewelld").into_os_string(), "--standalone".into(), "--config".into(), file.clone()];
    argv.extend(["--socket".into(), path("socket"), "--state-dir".into(), path("state")]);
    let mut daemon = Process::start(&argv, &folder.join("log")).unwrap();
    let ended = until("nodewelld refuses it or starts", || {
        daemon.ended().map(Some).or_else(|| folder.join("socket").exists().then_some(None))
    });
    let printed = fs::read_to_string(folder.join("log")).unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(78), "{printed}");
    printed
}

/// Errors in files of this folder, without notes on what is right.
fn of(folder: &Path, printed: &str) -> BTreeSet<String> {
    let start = folder.display().to_string();
    let errors = printed.lines().filter(|line| line.starts_with(&start) && !line.contains(": note: "));
    errors.map(str::to_owned).collect()
}

/// A plug-in's program is looked at when it is to be run: nodewelld starts, and what it would say is Unknown.
fn a_program_that_is_missing_is_no_error() {
    let plan = Plan::default();
    let plugin = "[[plugin]]\nname = 'gone'\ncommand = ['/no/such/program']\nreason = 'Gone'\n";
    let file = plan.file("rules.d/mine.toml", plugin);
    let config = plan.folder().join("nodewell.toml").into_os_string();
    let note = format!("{}:1: note: gone would not be run: ", file.display());
    for args in [
        vec!["check".into(), config.clone()],
        vec!["check".into(), "--config".into(), config.clone()],
        vec!["check".into(), file.clone().into_os_string()],
    ] {
        let outcome = nodewell(&args);
        assert_eq!(outcome.code, 0, "{args:?}: {outcome:?}");
        assert!(outcome.stdout.contains(&note), "{args:?}: {}", outcome.stdout);
    }
    let _agent = plan.start();
}

fn wrong_usage_is_no_config_error() {
    let outcome = nodewelld(["--no-such-flag"]);
    assert_eq!(outcome.code, 64, "{outcome:?}");
}
