//! What bash completes with our script, as it runs there.

use std::{collections::BTreeSet, fs, process::Command};

/// The last word of `line` as bash completes it.
fn completed(script: &str, line: &str) -> BTreeSet<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
    let asked = format!(
        "source {script}; COMP_WORDS=({line}); COMP_CWORD={}; _nodewell nodewell '{last}' '{before}'; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.len() - 1
    );
    let output = Command::new("bash").env("LC_ALL", "C").args(["--norc", "-c", &asked]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_reasons_and_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("nodewell");
    let made = Command::new(env!("CARGO_BIN_EXE_nodewell")).args(["completion", "bash"]).output().unwrap();
    fs::write(&script, made.stdout).unwrap();
    let script = script.display().to_string();
    for (line, expected) in [
        ("nodewell unm", "unmute"),
        ("nodewell explain KernelOo", "KernelOops"),
        ("nodewell explain DiskUnh", "DiskUnhealthy"),
        ("nodewell inject KernelOo", "KernelOops"),
        ("nodewell mute IOErr", "IOError"),
        ("nodewell mute IOError --condition DiskUnh", "DiskUnhealthy"),
        ("nodewell clear DiskUnh", "DiskUnhealthy"),
        ("nodewell events --reason KernelOo", "KernelOops"),
    ] {
        let found = completed(&script, line);
        assert!(found.contains(expected), "{line}: {found:?}");
        let word = line.rsplit(' ').next().unwrap();
        assert!(found.iter().all(|one| one.starts_with(word)), "{line}: {found:?}");
    }
}
