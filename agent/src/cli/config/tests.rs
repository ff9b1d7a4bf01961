//! What is shown, and what reading it again gives.

use std::fs;

use nodewell_settings::read_text;
use tempfile::TempDir;

use super::*;

const SET: &str = "node-name = \"n1\"\n[clock]\noffset = \"20ms\"\n[gpu]\nexpected = 8\n";

fn shown(words: &[&str]) -> (TempDir, Result<String, CommandError>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("n.toml");
    fs::write(&file, SET).unwrap();
    fs::create_dir(folder.path().join("n.toml.d")).unwrap();
    fs::write(folder.path().join("n.toml.d/10.toml"), "[gpu]\n\nexpected = 4\n").unwrap();
    let show = Show {
        names: words.iter().filter(|word| !word.starts_with('-')).map(|word| (*word).to_owned()).collect(),
        set: words.contains(&"--set"),
        config: Some(file),
        output: Output::default(),
    };
    let text = show.entries().map(|entries| show.text(&entries, &Look::PLAIN));
    (folder, text)
}

#[test]
fn what_files_set_is_shown_with_the_line_that_holds() {
    let (folder, text) = shown(&["--set"]);
    let path = folder.path().display();
    let line = |setting: &str, at: &str| format!("{setting:<40}  # {path}/{at}\n");
    let expected = [
        &line("node-name = \"n1\"", "n.toml:1"),
        "\n[gpu]\n",
        &line("expected = 4", "n.toml.d/10.toml:3"),
        "\n[clock]\n",
        &line("offset = \"20ms\"", "n.toml:3"),
    ];
    assert_eq!(text.unwrap(), expected.concat());
}

#[test]
fn the_whole_is_a_config_that_means_the_same() {
    let (folder, text) = shown(&[]);
    let flags = Flags { config: Some(folder.path().join("n.toml")), ..Flags::default() };
    let before = Config::load(&flags).unwrap();
    let again = folder.path().join("again.toml");
    fs::write(&again, text.unwrap()).unwrap();
    assert_eq!(Config::load(&Flags { config: Some(again), ..Flags::default() }).unwrap(), before);
}

#[test]
fn tables_and_keys_can_be_named() {
    let (_folder, text) = shown(&["limits.zombies", "cpu", "standalone"]);
    let expected = "standalone = false\n\n[cpu]\nenabled = true\ninterval = \"1m\"\n\n[limits]\nzombies = [100, 50]\n";
    assert_eq!(text.unwrap(), expected);
    let (_folder, error) = shown(&["limit.zombies"]);
    assert!(error.unwrap_err().to_string().contains("did you mean \"limits.zombies\"?"));
}

#[test]
fn every_usual_value_can_be_written_into_a_file() {
    let config = Config::default();
    for entry in config.entries(&[]) {
        let Some(value) = &entry.shown.usual else { continue };
        let table = entry.table.map(|table| format!("[{table}]\n")).unwrap_or_default();
        let mut read = Config::default();
        read_text(&mut read, std::path::Path::new("f"), &format!("{table}{} = {value}\n", entry.shown.key)).unwrap();
        assert_eq!(read, config, "{}", path(&entry));
        assert!(!entry.shown.help.is_empty(), "{}", path(&entry));
    }
}
