//! What runs leave behind is found and ended without cgroups. A program of its own: orphans become children of the whole
//! process.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::PathBuf,
    process::{self, Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use nodewell_checks::plugin::Orphans;
use nodewell_sys::contain::{Containment, Rlimits, adopt_orphans, contain};

fn start(script: &str) -> Child {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).stdin(Stdio::null());
    let rlimits = Rlimits { memory_bytes: 64 << 20, cpu_secs: 60, file_bytes: 1 << 20, open_files: 64 };
    contain(&mut command, Containment { rlimits, cgroup: None });
    command.spawn().unwrap()
}

/// A number of seconds that no other run of this test sleeps.
fn nap(number: u8) -> String {
    format!("1000.{number}{}", process::id())
}

/// Whether a process with exactly this argument lives: not the shell whose script names it, which may not have begun.
fn lives(mark: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes()))
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_detaches_itself_is_ended_and_no_other_process_is() {
    adopt_orphans().unwrap();
    let [one, two, three, four, five, six] = [1, 2, 3, 4, 5, 6].map(nap);
    let mut orphans = Orphans::new(PathBuf::from("/proc"));
    // One that was started a moment ago, and is not registered yet.
    orphans.starts();
    let mut early = start(&format!("sleep {six}; :"));
    until("it has started", || lives(&six));
    assert!(!orphans.sweep(1) && lives(&six));
    orphans.began(early.id());
    assert!(!orphans.sweep(1) && lives(&six));
    early.kill().unwrap();
    early.wait().unwrap();
    orphans.ended(early.id());
    until("it is swept", || !orphans.sweep(early.id()) && !lives(&six));

    // A child of our own, such as a worker, in our session.
    let mut own = Command::new("sleep").arg(&one).spawn().unwrap();
    let mut other = start(&format!("setsid sleep {two} & sleep {three}; exit 0"));
    orphans.began(other.id());
    // With a name that is no text.
    let hides = format!("printf \"\\377\" >/proc/$$/comm; trap \"\" TERM; sleep {four}; :");
    let mut run = start(&format!("(setsid sh -c '{hides}' &) ; sleep {five} & exit 0"));
    orphans.began(run.id());
    until("all have started", || [&two, &three, &four, &five].iter().all(|mark| lives(mark)));
    assert!(run.wait().unwrap().success());
    orphans.ended(run.id());
    until("its session is swept", || !orphans.sweep(run.id()) && !lives(&five));
    assert!(lives(&one) && lives(&two) && lives(&three), "of others that still run");
    assert!(lives(&four), "it may be of the other");

    other.kill().unwrap();
    other.wait().unwrap();
    orphans.ended(other.id());
    until("nothing is left of either", || {
        orphans.sweep(other.id());
        ![&two, &three, &four].iter().any(|mark| lives(mark))
    });
    assert!(own.try_wait().unwrap().is_none(), "it is ours");
    own.kill().unwrap();
    own.wait().unwrap();
}
