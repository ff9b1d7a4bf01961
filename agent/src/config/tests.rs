use std::{fs, path::Path};

use super::*;

fn mistakes(text: &str) -> Vec<String> {
    let found = settings::parse(Path::new("nodewell.toml"), text).err().unwrap_or_default();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn every_mistake_is_told_with_its_line() {
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
    let told = mistakes(text);
    let lines: Vec<&str> = told.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(lines, [1, 2, 3, 6, 7, 10].map(|line| format!("nodewell.toml:{line}")), "{told:#?}");
    assert!(told[0].contains("node-name"), "a near miss names its neighbour: {}", told[0]);
}

#[test]
fn broken_toml_and_bad_bytes_are_mistakes_not_panics() {
    for text in ["[", "a = ", "\u{0}", "x = 1\nx = 2", &"[a".repeat(1000)] {
        assert!(!mistakes(text).is_empty(), "{text:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    fs::write(&file, b"node-name = \"\xff\"").unwrap();
    assert!(settings::read(&file).is_err());
    assert!(settings::read(Path::new("/nonexistent/nodewell.toml")).is_err());
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
    assert_eq!(config.socket, Path::new("/b"));
    assert_eq!(config.state_dir, Path::new("/d"));
    assert_eq!(config.kmsg.facilities, [0]);
}

#[test]
fn rules_given_by_flag_replace_the_shipped_ones() {
    let flags = Flags { rules: vec!["/r".into()], ..Flags::default() };
    let plan = Config::load(&flags).unwrap().load_plan();
    assert!(matches!(plan.rules, RulesFrom::Dirs(dirs) if dirs == [Path::new("/r")]));
    assert_eq!(plan.overrides, None);
}
