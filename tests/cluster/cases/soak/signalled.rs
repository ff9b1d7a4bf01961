//! Ctrl-C reaches the run as SIGTERM, in a process group of its own, and its report and exit code come back.

use std::{env, ffi::OsString, fs, path::Path, time::Duration};

use nix::{
    sys::signal::Signal,
    unistd::{Pid, getpgid},
};
use nodewell_cluster::CLUSTER;
use nodewell_kit::write_program;
use nodewell_tests::{
    process::Process,
    suite::{Need, Suite},
    wait::{until, until_within},
};

/// What a cluster needs is looked for first.
const STARTED: Duration = Duration::from_secs(120);
/// In the place of what starts the run: it waits for a signal, and ends with its folder at the latest.
const RUN: &str = "#!/bin/sh
case $* in *' soak --held '*) ;; *) PATH=$OLD exec setpriv \"$@\" ;; esac
trap '@ASKED@' TERM
echo $$ >@D@/new && mv @D@/new @D@/pid
while [ -d @D@ ]; do sleep 0.1; done
";
const REPORT: &str = "faults: none";

pub(super) fn list(suite: &mut Suite) {
    suite.case_with(
        &[CLUSTER, Need::KernelLog, Need::LoopDevice],
        "ctrl_c_ends_it_with_its_report_and_twice_without",
        ctrl_c_ends_it_with_its_report_and_twice_without,
    );
}

fn ctrl_c_ends_it_with_its_report_and_twice_without() {
    assert_eq!(ended(&format!("echo {REPORT}; exit 1")), (Some(1), true));
    assert_eq!(ended(": >@D@/asked"), (Some(70), false), "a run that goes on after SIGTERM");
}

/// Exit code, and whether there was a report, after a signal, and another one if the run goes on.
fn ended(asked: &str) -> (Option<i32>, bool) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = RUN.replace("@ASKED@", asked).replace("@D@", &at.display().to_string());
    write_program(&at.join("setpriv"), 0o755, &run);
    let mut soak = start(at);
    let run = until_within(STARTED, "the run is started", || {
        assert!(soak.ended().is_none(), "{}", output(at));
        fs::read_to_string(at.join("pid")).ok()?.trim().parse().ok().map(Pid::from_raw)
    });
    assert_eq!(getpgid(Some(run)), Ok(run), "Ctrl-C in a terminal does not reach it");
    soak.signal(Signal::SIGINT);
    let goes_on = until("it ends or goes on", || {
        let goes_on = at.join("asked").exists();
        (goes_on || soak.ended().is_some()).then_some(goes_on)
    });
    if goes_on {
        soak.signal(Signal::SIGINT);
    }
    (soak.wait().code(), output(at).lines().any(|line| line == REPORT))
}

/// With a `setpriv` of this folder's.
fn start(at: &Path) -> Process {
    let old = env::var_os("PATH").unwrap();
    let set = |name: &str, value: OsString| [name.as_ref(), value.as_os_str()].join("=".as_ref());
    let path = [at.as_os_str(), &old].join(":".as_ref());
    let program = env!("CARGO_BIN_EXE_nodewell-cluster");
    let mut argv = vec!["env".into(), set("PATH", path), set("OLD", old)];
    argv.extend([program, "soak", "--minutes", "1"].map(OsString::from));
    Process::start(&argv, &at.join("output")).unwrap()
}

fn output(at: &Path) -> String {
    fs::read_to_string(at.join("output")).unwrap_or_default()
}
