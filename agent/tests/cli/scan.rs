//! `nodewell scan`, with the real agent.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

/// An agent that looks at nothing but a kernel log, which is a file with `log` in it.
fn config(folder: &Path, log: &str) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(at("log"), log).unwrap();
    let text = format!(
        "check-processes = \"none\"\n[kmsg]\npath = {:?}\nfacilities = [0, 1]\n[journal]\nenabled = false\n",
        at("log")
    );
    fs::write(at("config.toml"), text).unwrap();
    at("config.toml")
}

#[test]
fn a_scan_finds_what_is_there_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "2,1,1,-;BUG: kernel NULL pointer dereference, address: 0000000000000008\n");
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let scan = Command::new(env!("CARGO_BIN_EXE_nodewell"))
        .args(["scan", "--config", &config, "--settle", "1s", "--exit-code", "-o", "json"])
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&scan.stdout);
    let view: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{scan:?}"));
    let conditions = view["conditions"].as_array().unwrap();
    let sick = conditions.iter().find(|one| one["type"] == "KernelUnhealthy").unwrap();
    assert_eq!((&sick["status"], &sick["reason"]), (&"True".into(), &"KernelOops".into()));
    assert_eq!(scan.status.code(), Some(1));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "its folder is gone");
}

#[test]
fn an_agent_that_does_not_start_is_reported_with_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), "no-such-key = 1\n").unwrap();
    let scan = Command::new(env!("CARGO_BIN_EXE_nodewell"))
        .arg("scan")
        .arg("--config")
        .arg(folder.path().join("bad.toml"))
        .output()
        .unwrap();
    assert_eq!(scan.status.code(), Some(70), "{scan:?}");
    assert!(String::from_utf8_lossy(&scan.stderr).contains("no-such-key"), "{scan:?}");
}
