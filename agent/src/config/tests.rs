mod clock;
mod hardware;
mod limits;
mod mounts;
mod network;
mod repair;
mod services;

use std::{fs, path::Path, time::Duration};

use nodewell_settings::read_text;

use super::*;

/// Files with these texts, the later ones over the earlier.
fn read_all(texts: &[&str]) -> Result<Config, Vec<String>> {
    let mut config = Config::default();
    let messages = |diagnostics: Vec<Diagnostic>| diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>();
    for text in texts {
        read_text(&mut config, Path::new("nodewell.toml"), text).map_err(messages)?;
    }
    Ok(config)
}

fn read(text: &str) -> Result<Config, Vec<String>> {
    read_all(&[text])
}

fn diagnostics(text: &str) -> Vec<String> {
    read(text).err().unwrap_or_default()
}

#[test]
fn every_error_is_reported_with_its_line() {
    let text = "\
node-nam = \"a\"
standalone = \"yes\"
metrics-address = \"here\"

[kmsg]
facilities = [0, 99]
lookback = \"soon\"

[apiserver]
heartbeat = \"1s\"
";
    let messages = diagnostics(text);
    let lines: Vec<&str> = messages.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(lines, [1, 2, 3, 6, 7, 10].map(|line| format!("nodewell.toml:{line}")), "{messages:#?}");
    assert!(messages[0].contains("node-name"), "a near miss names its neighbour: {}", messages[0]);
}

/// As people write it, and as Node Problem Detector does.
#[test]
fn no_lookback_is_written_with_or_without_a_unit() {
    for none in ["0", "0s", "0h0m"] {
        let config = read(&format!("[kmsg]\nlookback = \"{none}\"\n[journal]\nlookback = \"{none}\"\n")).unwrap();
        assert_eq!((config.kmsg.lookback, config.journal.lookback), (Duration::ZERO, Duration::ZERO), "{none}");
    }
    assert_eq!(read("").unwrap().kmsg.lookback, Duration::from_mins(5));
    for wrong in ["", "00", "-0s", "5"] {
        assert_eq!(diagnostics(&format!("[kmsg]\nlookback = \"{wrong}\"\n")).len(), 1, "{wrong:?}");
    }
}

#[test]
fn a_key_outside_its_table_names_where_it_belongs() {
    let error = |text: &str| read(text).unwrap_err().remove(0);
    for (text, expected) in [
        ("heartbeat = \"4m\"\n", "in the config; it is a key of [apiserver], whose line must stand above it"),
        ("[clock]\nzombies = [2, 1]\n", "in [clock]; it is a key of [limits], whose line must stand above it"),
        ("[clock]\nnode-name = \"a\"\n", "in [clock]; it must stand above the line of the first table"),
        (
            "[disk]\nmin-interval = \"1m\"\n",
            "; did you mean \"interval\"? Or else it is a key of [repair], whose line must stand above it",
        ),
    ] {
        assert!(error(text).ends_with(expected), "{text}: {}", error(text));
    }
    assert!(error("[clock]\nuser = \"a\"\n").contains("[[grant]]"), "of the tables that may stand several times, too");
    assert!(error("interval = \"1m\"\n").contains("it is a key of tables such as "), "not all of a dozen");
    for text in ["nonsense = 1\n", "[kubelet]\n", "[[unit]]\n"] {
        assert!(error(text).contains("; it takes node-name, "), "of none: {}", error(text));
    }
}

#[test]
fn a_lease_is_a_bool_or_auto_and_its_pace_is_bounded() {
    let resolved = |text: &str| {
        let lease = read(text).unwrap().apiserver.lease;
        (lease.mode, lease.duration().as_secs())
    };
    assert_eq!(resolved(""), (LeaseMode::Auto, 240));
    assert_eq!(resolved("[apiserver]\nlease = true\nlease-renew = \"10s\"\n"), (LeaseMode::Always, 40));
    assert_eq!(resolved("[apiserver]\nlease = false\n"), (LeaseMode::Never, 240));
    assert_eq!(resolved("[apiserver]\nlease = \"auto\"\n"), (LeaseMode::Auto, 240));
    let text = "[apiserver]\nlease = \"maybe\"\nlease-renew = \"1s\"\nheartbeat = \"10m\"\n";
    let lines: Vec<String> = diagnostics(text).iter().map(|line| line.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(lines, [2, 3, 4].map(|line| format!("nodewell.toml:{line}")));
}

#[test]
fn broken_toml_and_bad_bytes_are_errors_not_panics() {
    for text in ["[", "a = ", "\u{0}", "x = 1\nx = 2", &"[a".repeat(1000)] {
        assert!(!diagnostics(text).is_empty(), "{text:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    fs::write(&file, b"node-name = \"\xff\"").unwrap();
    assert!(Config::default().read_file(&file).is_err());
    assert!(Config::default().read_file(Path::new("/nonexistent/nodewell.toml")).is_err());
}

#[test]
fn drop_ins_win_over_the_file_and_flags_over_both() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("nodewell.toml");
    fs::create_dir(folder.path().join("nodewell.toml.d")).unwrap();
    fs::write(&config, "node-name = \"a\"\nsocket = \"/a\"\nstate-dir = \"/a\"\n").unwrap();
    fs::write(folder.path().join("nodewell.toml.d/10.toml"), "socket = \"/b\"\nstate-dir = \"/b\"\n").unwrap();
    fs::write(folder.path().join("nodewell.toml.d/20.toml"), "state-dir = \"/c\"\n").unwrap();
    let flags = Flags { config: Some(config), state_dir: Some("/d".into()), ..Flags::default() };
    let config = Config::load(&flags).unwrap();
    assert_eq!(config.node_name, "a");
    assert_eq!(config.socket.path, Path::new("/b"));
    assert_eq!(config.state_dir.as_deref(), Some(Path::new("/d")));
    assert_eq!(config.kmsg.facilities, [0]);
}

/// As for a service whose user may not list the folder; root may list every one.
#[test]
fn drop_ins_that_cannot_be_listed_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("nodewell.toml");
    fs::write(&config, "node-nam = \"a\"\n").unwrap();
    fs::write(folder.path().join("nodewell.toml.d"), "").unwrap();
    let flags = Flags { config: Some(config), ..Flags::default() };
    let messages: Vec<_> = Config::load(&flags).unwrap_err().iter().map(ToString::to_string).collect();
    assert!(messages[0].contains("/nodewell.toml.d: this folder cannot be read: "), "{messages:?}");
    assert!(messages[1].contains("nodewell.toml:1: "), "the files are read all the same: {messages:?}");
}

#[test]
fn a_name_that_no_node_has_is_a_mistake_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nodewell.toml");
    fs::write(&file, "node-name = \"Worker_7\"\n").unwrap();
    let error = Config::default().read_file(&file).unwrap_err()[0].to_string();
    assert!(error.contains("nodewell.toml:1: \"node-name\": \"Worker_7\" is no Node's name"), "{error}");
}

/// What `nodewell check FILE` reads as a config.
#[test]
fn a_file_is_a_config_by_its_keys_or_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let is_config = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        Config::is_config(&file)
    };
    for text in [
        "node-name = \"a\"\n",
        "node-nam = \"a\"\n",
        "[kmgs]\n",
        "[[grnat]]\n",
        "x = 1\n[disk]\n",
        "heartbeat = \"4m\"\n",
    ] {
        assert!(is_config("mine.toml", text), "{text}");
    }
    for text in [
        "[[rule]]\n",
        "[[rul]]\n",
        "reason = \"A\"\npattern = \"x\"\n",
        "[[plugin]]\n",
        "[override.A]\n",
        "[[conditon]]\n",
        "x = 1\n",
        "",
        "[disk]\n[[rule]]\n",
    ] {
        assert!(!is_config("mine.toml", text), "{text}");
    }
    for name in ["nodewell.toml", "nodewell.toml.d/10.toml"] {
        assert!(is_config(name, "") && is_config(name, "x = 1\n") && !is_config(name, "[[rule]]\n"), "{name}");
    }
    assert!(Config::is_config(Path::new("/nonexistent/nodewell.toml")));
    assert!(!Config::is_config(Path::new("/nonexistent/mine.toml")));
}

#[test]
fn rules_given_by_flag_replace_the_shipped_ones() {
    let flags = Flags { rules: vec!["/r".into()], ..Flags::default() };
    let plan = Config::load(&flags).unwrap().load_plan();
    assert!(matches!(plan.rules, RulesFrom::Dirs(dirs) if dirs == [Path::new("/r")]));
    assert_eq!(plan.overrides, None);
}

#[test]
fn errors_in_grants_are_reported_with_their_lines() {
    let text = r#"[[grant]]
unit = "raid-monitor"
conditions = ["RaidProblem"]

[[grant]]
user = "no-user-of-that-name"
conditions = ["raid problem"]
rate = "fast"
on-stale = "forget"

[[grant]]
unit = "x.service"
user = 1000
conditions = ["RaidProblem"]

[[grant]]
group = "root"

[[grant]]
unit = "x.service"
conditions = []
colour = "red"

[socket]
connections = 0
rate = 0
path = 5
"#;
    let messages = diagnostics(text);
    let lines: Vec<&str> = messages.iter().map(|line| line.split(": ").next().unwrap()).collect();
    let expected = [2, 6, 7, 8, 9, 11, 16, 21, 22, 25, 26, 27].map(|line| format!("nodewell.toml:{line}"));
    assert_eq!(lines, expected, "{messages:#?}");
}

#[test]
fn grants_of_all_files_add_up_and_are_taken_by_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("nodewell.toml");
    fs::create_dir(folder.path().join("nodewell.toml.d")).unwrap();
    let grant = "[[grant]]\nunit = \"x.service\"\nconditions = [\"RaidProblem\"]\n";
    fs::write(&config, format!("[socket]\npath = \"/a\"\nrate = \"1/m\"\n{grant}")).unwrap();
    let flags = Flags { config: Some(config), ..Flags::default() };
    let before = Config::load(&flags).unwrap();
    let more = "socket = \"/b\"\n[[grant]]\nuser = \"root\"\nevents = true\nrate = 100\n[[grant]]\ngroup = \"0\"\nclear = [\"RaidProblem\"]\n";
    fs::write(folder.path().join("nodewell.toml.d/10.toml"), more).unwrap();
    let after = Config::load(&flags).unwrap();
    assert_eq!(after.socket.path, Path::new("/b"));
    assert_eq!(after.socket.limits.rate.interval, Duration::from_mins(1));
    let to: Vec<_> = after.grants.iter().map(|grant| &grant.to).collect();
    use crate::config::Grantee::{Group, Unit, User};
    assert_eq!(to, [&Unit("x.service".to_owned()), &User(0), &Group(0)]);
    let (reloaded, needs_restart) = before.with_rules_of(&after);
    assert_eq!((reloaded.grants.len(), needs_restart), (3, true));
    assert_eq!(after.grants_beyond(&[]).len(), 2, "only those that name a condition");
}

#[test]
fn what_the_documentation_shows_is_good() {
    let text = include_str!("../../../docs/configuration.md");
    let mut examples = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).peekable();
    assert!(examples.peek().is_some());
    for example in examples {
        assert_eq!(diagnostics(example), Vec::<String>::new(), "{example}");
    }
}

/// packaging/ansible/inventory: what a host of all groups gets, in one folder.
#[test]
fn the_example_of_a_fleet_is_good() {
    let groups = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/ansible/inventory/nodewell");
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("nodewell.toml");
    fs::write(&config, "").unwrap();
    fs::create_dir(folder.path().join("nodewell.toml.d")).unwrap();
    let mut names = Vec::new();
    for group in fs::read_dir(groups).unwrap() {
        for file in fs::read_dir(group.unwrap().path().join("nodewell.toml.d")).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.path().join("nodewell.toml.d").join(file.file_name())).unwrap();
            names.push(file.file_name());
        }
    }
    let flags = Flags { config: Some(config), ..Flags::default() };
    let (config, set) = Config::load_with_origins(&flags).unwrap();
    assert!(!set.is_empty() && !config.grants.is_empty());
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "a host of two groups needs both files");
}
