//! The fixtures of `tests/rules`: what is accepted, and what is reported of what is not.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use nodewell_model::{Action, Severity};
use proptest::prelude::*;

use crate::{
    Loaded, Reader, load_path,
    rule::{Proof, RecoveryCheck, Rule, TimestampFormat},
};

fn fixtures(kind: &str) -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/rules").join(kind);
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(!files.is_empty());
    files
}

fn succeeding(name: &str) -> Loaded {
    load_path(fixtures("succeeds").iter().find(|file| file.ends_with(name)).unwrap())
}

fn only_rule(loaded: &Loaded) -> &Rule {
    assert_eq!(loaded.diagnostics, []);
    assert_eq!(loaded.set.rules.len(), 1);
    &loaded.set.rules[0]
}

#[test]
fn good_files_have_no_errors() {
    for file in fixtures("succeeds") {
        let loaded = load_path(&file);
        assert_eq!(loaded.diagnostics, [], "{}", file.display());
        assert!(!loaded.set.rules.is_empty());
    }
}

#[test]
fn decoders_and_inhibitions_do_what_their_examples_show() {
    for name in ["06-decoder.toml", "07-fabric-manager.toml", "08-inhibit.toml"] {
        assert_eq!(crate::check_examples(&succeeding(name).set), [], "{name}");
    }
}

#[test]
fn the_rule_that_the_guide_shows_is_a_rule() {
    const GUIDE: &str = include_str!("../../../../docs/xids.md");
    let shown = fixtures("succeeds").into_iter().find(|path| path.ends_with("07-fabric-manager.toml")).unwrap();
    let rule = fs::read_to_string(shown).unwrap();
    assert!(GUIDE.contains(&rule), "docs/xids.md shows another rule than 07-fabric-manager.toml");
}

#[test]
fn every_error_of_a_bad_file_is_reported_with_its_line() {
    for file in fixtures("fails") {
        let mut messages = String::new();
        for diagnostic in load_path(&file).diagnostics {
            let message = diagnostic.message.replace(&format!("{}:", file.display()), "line ");
            writeln!(messages, "{}: {message}", diagnostic.location.line).unwrap();
        }
        let expected = fs::read_to_string(file.with_extension("txt")).unwrap_or_default();
        assert_eq!(messages, expected, "{}", file.display());
    }
}

#[test]
fn a_rule_that_says_little_gets_the_defaults() {
    let loaded = succeeding("01-temporary.toml");
    let rule = only_rule(&loaded);
    assert_eq!(loaded.set.readers, [Reader::Kmsg]);
    assert_eq!((&*rule.monitor, rule.lines, rule.severity), ("kernel-monitor", 1, Severity::Warn));
    assert_eq!((rule.proof, &rule.counting, rule.action), (Proof::None, &None, None));
    assert_eq!((rule.location.line, rule.examples.matches[0].line), (2, 6));
    assert_eq!(rule.examples.matches[0].text, "BUG: unable to handle page fault for address: 0000000000000008");
}

#[test]
fn a_permanent_rule_keeps_everything_it_says() {
    let loaded = succeeding("02-permanent.toml");
    let rule = only_rule(&loaded);
    assert_eq!(loaded.set.conditions[0].healthy_reason.as_str(), "DiskIsWell");
    assert_eq!(rule.condition.as_ref().unwrap().as_str(), "DiskSick");
    assert_eq!((rule.severity, rule.action), (Severity::Critical, Some(Action::ReplaceDisk)));
    assert_eq!((rule.patterns.len(), rule.proof), (2, Proof::Filesystem));
    assert_eq!(rule.clears.quiet, Some(Duration::from_secs(5400)));
    assert_eq!((rule.clears.boot, rule.clears.check), (true, Some(RecoveryCheck::FilesystemWritable)));
    assert_eq!(rule.examples.matches[1].subject.as_deref(), Some("sdb1"));
    assert_eq!(rule.origin, "kernel 4.18-6.18, fs/ext4/super.c");
}

#[test]
fn a_counting_journal_rule_keeps_its_fields_and_window() {
    let loaded = succeeding("03-counting.toml");
    let rule = only_rule(&loaded);
    let counting = rule.counting.as_ref().unwrap();
    assert_eq!((counting.count, counting.window, counting.revert.len()), (5, Duration::from_secs(1200), 1));
    assert_eq!(rule.fields.require[1].1, ["kubelet.service", "snap.kubelet.daemon.service"]);
    assert_eq!(rule.fields.without, ["CONTAINER_ID"]);
    assert!(!rule.clears.boot, "only the kernel's word ends with the kernel");
    assert_eq!((&*rule.monitor, loaded.set.readers.len()), ("journal-monitor", 1));
}

#[test]
fn an_inhibited_rule_keeps_what_inhibits_it() {
    let loaded = succeeding("08-inhibit.toml");
    let inhibition = only_rule(&loaded).inhibition.as_ref().unwrap();
    assert_eq!((inhibition.patterns.len(), &*inhibition.until[0], &*inhibition.field), (2, "^Start", "UNIT"));
    assert_eq!((&*inhibition.all[0], inhibition.window), ("multi-user.target", Duration::from_secs(600)));
}

#[test]
fn a_log_file_source_becomes_a_reader() {
    let loaded = succeeding("04-log-file.toml");
    let rule = only_rule(&loaded);
    let Reader::File(reader) = &loaded.set.readers[rule.reader] else { panic!("not a file reader") };
    assert_eq!((&*reader.name, reader.paths.len(), &reader.timestamp), ("kern-log", 2, &TimestampFormat::Rfc3339));
    assert_eq!((reader.skip.len(), rule.lines, &*rule.monitor), (1, 2, "kern-log"));
}

#[test]
fn a_rule_may_read_auditds_log() {
    let loaded = succeeding("08-audit-log.toml");
    let Reader::File(reader) = &loaded.set.readers[only_rule(&loaded).reader] else { panic!("not a file reader") };
    assert_eq!(reader.timestamp, TimestampFormat::Audit);
    assert_eq!(crate::check_examples(&loaded.set), []);
}

#[test]
fn boot_ends_a_kernel_problem_unless_the_rule_says_otherwise() {
    let loaded = succeeding("05-plumbing.toml");
    let rule = only_rule(&loaded);
    assert!(rule.clears.boot);
    assert_eq!(rule.severity, Severity::Error);
}

proptest! {
    #[test]
    fn a_damaged_file_never_makes_it_panic(
        fixture in 0_usize..4,
        at in 0_usize..1200,
        length in 0_usize..40,
        junk in r#"[\[\]{}"',=.a0\\ä \n#]{0,8}"#,
    ) {
        let mut bytes = fs::read(&fixtures("succeeds")[fixture]).unwrap();
        let start = at.min(bytes.len());
        bytes.splice(start..(start + length).min(bytes.len()), junk.bytes());
        let draft = super::read(Path::new("m.toml"), &String::from_utf8_lossy(&bytes));
        let lines = bytes.iter().filter(|b| **b == b'\n').count() + 1;
        prop_assert!(draft.diagnostics.iter().all(|error| (1..=lines).contains(&error.location.line)));
    }
}

const PLUGIN: &str = "[[condition]]\ntype = 'Sick'\nhealthy-reason = 'Well'\nhealthy-message = 'fine'\n[[plugin]]\n\
                      name = 'disk-space'\ncommand = ['/usr/lib/nagios/plugins/check_disk', '-w', '10%']\n\
                      protocol = 'nagios'\ncondition = 'Sick'\nreason = 'DiskFull'\n";

#[test]
fn a_plugin_is_read_with_its_defaults() {
    let loaded = crate::load_text(Path::new("a.toml"), PLUGIN);
    assert_eq!(loaded.diagnostics, []);
    let monitor = &loaded.set.plugins[0];
    let task = &monitor.tasks[0];
    assert_eq!((&*monitor.source, monitor.concurrency, task.name.as_str()), ("plugins", 1, "disk-space"));
    let crate::plugin::Task::Run { path, args, protocol } = &task.task else { panic!() };
    assert_eq!((path.to_str(), args.len()), (Some("/usr/lib/nagios/plugins/check_disk"), 2));
    assert_eq!(*protocol, crate::plugin::Protocol::Nagios);
    assert_eq!((task.interval.as_secs(), task.timeout.as_secs(), task.output_limit_bytes), (60, 10, 256));
    assert_eq!((task.failures, task.successes, task.severity), (1, 1, nodewell_model::Severity::Error));
}

#[test]
fn every_error_of_a_plugin_is_reported_with_its_line() {
    let messages_with = |more: &str, from: &str, to: &str| {
        let text = format!("{}{more}\n", PLUGIN.replace(from, to));
        let loaded = crate::load_text(Path::new("a.toml"), &text);
        loaded
            .diagnostics
            .iter()
            .map(|messages| format!("{}: {}", messages.location.line, messages.message))
            .collect::<Vec<_>>()
    };
    let same = ("", "");
    for (more, (from, to), expected) in [
        ("interval = '500ms'", same, "11: \"interval\" must be at least 1s"),
        ("timeout = '2h'", same, "11: \"timeout\" must be at most 1h; what runs for longer reports over the socket"),
        ("failures = 0", same, "11: \"failures\" takes a number from 1 to 1000, not 0"),
        ("output-limit = 5000", same, "11: \"output-limit\" takes a number from 1 to 1024, not 5000"),
        ("subject = \"a\\nb\"", same, "11: \"subject\" is one plain line, such as \"a\u{fffd}b\""),
        ("", ("'nagios'", "'icinga'"), "8: \"protocol\" takes npd or nagios, not \"icinga\""),
        ("", ("name = 'disk-space'\n", ""), "5: [[plugin]] lacks \"name\""),
        ("", ("'Sick'\nreason", "'Ill'\nreason"), "9: unknown condition \"Ill\"; declare it with [[condition]]"),
        (
            "",
            ("['/usr/lib/nagios/plugins/check_disk', '-w', '10%']", "'check_disk -w'"),
            "7: \"command\" begins with an absolute path, not \"check_disk -w\"; no shell reads it",
        ),
    ] {
        assert_eq!(messages_with(more, from, to), [expected], "{more} {from} {to}");
    }
    let twice = format!("{PLUGIN}{}", &PLUGIN[PLUGIN.find("[[plugin]]").unwrap()..]);
    let messages = crate::load_text(Path::new("a.toml"), &twice).diagnostics;
    assert_eq!(messages.len(), 1);
    assert!(
        messages[0].message.starts_with("duplicate: a plug-in \"disk-space\" is there already, at a.toml:5"),
        "{messages:?}"
    );
}

#[test]
fn a_default_is_what_holds_without_the_key() {
    let read = |text: &str| {
        let loaded = crate::load_text(Path::new("a.toml"), text);
        assert_eq!(loaded.diagnostics, [], "{text}");
        format!("{:?} {:?} {:?}", loaded.set.readers, loaded.set.rules, loaded.set.plugins)
    };
    let rule = "[[rule]]\nreason = 'A'\ntype = 'temporary'\npattern = '^a'\nmatches = ['a']\n";
    let of_a_file = "reason = 'A'\ntype = 'temporary'\nsource = 'log'\npattern = '^a'\nmatches = ['a']\n";
    let source = format!("[[rule]]\n{of_a_file}[[source]]\nname = 'log'\npaths = '/a.log'\n");
    let plugin = "[[plugin]]\nname = 'a'\ncommand = '/a'\nreason = 'A'\n";
    let mut seen = 0;
    for (name, least) in [("[[rule]]", rule), ("[[source]]", source.as_str()), ("[[plugin]]", plugin)] {
        let table = super::TABLES.into_iter().find(|table| table.name == name).unwrap();
        for key in table.keys {
            let Some(usual) = key.usual() else { continue };
            assert_eq!(read(&format!("{least}{} = {usual}\n", key.name)), read(least), "{name} {}", key.name);
            seen += 1;
        }
    }
    assert!(seen >= 11, "only {seen} keys have a default");
}

#[test]
fn what_a_table_lacks_is_what_it_requires() {
    for table in super::TABLES {
        // Some stand within a rule.
        let head = if table.name.contains("rule.") { "[[rule]]\n" } else { "" };
        let loaded = crate::load_text(Path::new("a.toml"), &format!("{head}{}\n", table.name));
        for key in table.keys.iter().filter(|key| key.is_required) {
            let lacks = format!("lacks {:?}", key.name);
            assert!(loaded.diagnostics.iter().any(|error| error.message.contains(&lacks)), "{} {lacks}", table.name);
        }
    }
}
