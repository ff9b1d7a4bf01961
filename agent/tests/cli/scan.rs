//! `nodewell scan`, with the real agent.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::until;

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

/// An agent with check processes that look at nothing but what a plug-in finds: a fault, after so many seconds.
/// `checks` are on all the same.
fn slow(folder: &Path, secs: u32, checks: &[&str]) -> String {
    let rules = folder.join("rules");
    fs::create_dir_all(&rules).unwrap();
    let plugin = format!(
        "[[condition]]\ntype = \"FansUnhealthy\"\nhealthy-reason = \"FansAreHealthy\"\nhealthy-message = \"all turn\"\n
         [[plugin]]\nname = \"fans\"\ncommand = [\"/bin/sh\", \"-c\", \"sleep {secs}; echo stopped; exit 1\"]
         timeout = \"50s\"\ncondition = \"FansUnhealthy\"\nreason = \"FanStopped\"\n"
    );
    fs::write(rules.join("fans.toml"), plugin).unwrap();
    let config = config(folder, "");
    let off = nodewell_checks::CHECKS.iter().map(|check| check.name).filter(|name| !checks.contains(name));
    let off: String = off.map(|name| format!("[{name}]\nenabled = false\n")).collect();
    let text = fs::read_to_string(&config).unwrap().replace("\"none\"", &format!("\"spawn\"\nrules = [{rules:?}]"));
    fs::write(&config, format!("{text}[services]\nenabled = false\n{off}")).unwrap();
    config
}

/// A scan of its own folder, with nothing released but beside `socket` in it.
fn scan(folder: &Path, config: &str, words: &[&str]) -> Command {
    let mut scan = Command::new(env!("CARGO_BIN_EXE_nodewell"));
    scan.arg("--socket").arg(folder.join("socket")).args(["scan", "--config", config, "--settle", "300ms"]);
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    scan.args(["--exit-code", "-o", "json"]).args(words).env("TMPDIR", &temporary);
    scan.stdin(Stdio::null());
    scan
}

fn shown(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_check_that_takes_longer_than_it_settles_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let config = slow(folder.path(), 4, &[]);
    let output = scan(folder.path(), &config, &[]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""), "{output:?}");
    let view = shown(&output);
    let fans = view["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "FansUnhealthy").unwrap();
    assert_eq!(fans["status"], "True");
}

#[test]
fn what_was_not_looked_at_in_time_is_named_and_no_health() {
    let folder = tempfile::tempdir().unwrap();
    let config = slow(folder.path(), 40, &[]);
    let output = scan(folder.path(), &config, &["--timeout", "4s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stderr(&output).contains("not all was looked at in time"), "{output:?}");
    assert!(stderr(&output).contains("plugins"), "{output:?}");
    let view = shown(&output);
    let daemons = view["daemons"].as_array().unwrap();
    let fans = daemons.iter().find(|one| one["name"].as_str().unwrap().starts_with("plugins")).unwrap();
    assert_eq!((&fans["state"], &fans["reason"]), (&"starting".into(), &"MonitorStarting".into()));
}

#[test]
fn released_devices_are_let_alone_and_no_health() {
    let folder = tempfile::tempdir().unwrap();
    let config = slow(folder.path(), 0, &["disk"]);
    let release = Command::new(env!("CARGO_BIN_EXE_nodewell"))
        .arg("--socket")
        .arg(folder.path().join("socket"))
        .args(["release", "disk", "--wait", "10s", "--only-this-agent"])
        .output()
        .unwrap();
    assert!(release.status.success(), "{release:?}");
    let output = scan(folder.path(), &config, &["--timeout", "50s"]).output().unwrap();
    // The plug-in finds a fault, which is worse.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = stderr(&output);
    assert!(stderr.contains("disk is released until") && !stderr.contains("in time"), "{output:?}");
    let view = shown(&output);
    let disks = view["daemons"].as_array().unwrap().iter().find(|one| one["reason"] == "DevicesReleased");
    assert_eq!(disks.unwrap()["state"], "starting", "{output:?}");
}

/// The processes whose command line has this folder in it.
fn agents(folder: &Path) -> Vec<u32> {
    let mark = folder.join("tmp").display().to_string();
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let line =
        |pid: &u32| String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).into_owned();
    pids.filter(|pid| line(pid).contains(&mark)).collect()
}

#[test]
fn however_a_scan_ends_its_agent_does() {
    for (signal, code) in [("HUP", Some(129)), ("QUIT", Some(131)), ("TERM", Some(143)), ("KILL", None)] {
        let folder = tempfile::tempdir().unwrap();
        let config = slow(folder.path(), 40, &[]);
        let mut child = scan(folder.path(), &config, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The agent and its check processes.
        until("its agent runs", || (agents(folder.path()).len() >= 3).then_some(()));
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        until("nothing is left of it", || agents(folder.path()).is_empty().then_some(()));
        if code.is_some() {
            assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0, "{signal}: its folder is gone");
        }
    }
}
