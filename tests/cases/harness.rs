//! The harness itself: what it plays is what the machine would do.

use std::{
    env,
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, id},
    time::Duration,
};

use nix::sys::signal::Signal;
use nodewell_tests::{
    journal::Journal,
    kmsg::RealKmsg,
    leftovers,
    machine::{Machine, Release},
    process::{Process, bounded},
    suite::{Need, Suite},
    wait::until,
};

/// Names a file for the number of a machine's first process, in a run that is to be killed.
const TO_BE_KILLED: &str = "NODEWELL_TO_BE_KILLED";

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("harness")
        .case("a_process_is_gone_when_dropped", a_process_is_gone_when_dropped)
        .case("a_command_that_hangs_is_ended", a_command_that_hangs_is_ended)
        .case("what_a_killed_process_left_is_removed", what_a_killed_process_left_is_removed)
        .case_with(
            &[Need::Machine(Release::Bookworm)],
            "a_machine_is_gone_when_dropped",
            a_machine_is_gone_when_dropped,
        )
        .case_with(
            &[Need::Machine(Release::Bookworm)],
            "a_machine_ends_with_a_killed_run",
            a_machine_ends_with_a_killed_run,
        )
        .case_with(&[Need::KernelLog], "the_kernel_numbers_what_we_write", the_kernel_numbers_what_we_write)
        .case_with(&[Need::Journald], "a_private_journal_takes_entries", a_private_journal_takes_entries);
}

fn a_process_is_gone_when_dropped() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let argv: Vec<OsString> = ["cat", "/dev/zero"].map(OsString::from).to_vec();
    let process = Process::start(&argv, std::path::Path::new("/dev/null")).unwrap();
    let entry = format!("/proc/{}", process.pid());
    assert!(fs::exists(&entry).unwrap());
    drop(process);
    assert!(!fs::exists(&entry).unwrap());
    drop(log);
}

fn a_command_that_hangs_is_ended() {
    let ended = bounded(Duration::from_secs(1), "sh").args(["-c", "sleep 600 & wait"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(124), "{ended:?}");
    // Both had its pipes, or the answer would not have come.
    assert!(String::from_utf8_lossy(&ended.stderr).contains("TERM"), "{ended:?}");
}

fn what_a_killed_process_left_is_removed() {
    let [mut gone, mut unwaited] = [(); 2].map(|()| Command::new("true").spawn().unwrap());
    gone.wait().unwrap();
    let status = format!("/proc/{}/status", unwaited.id());
    until("it has ended", || fs::read_to_string(&status).unwrap().contains("(zombie)").then_some(()));
    let folder = |pid: u32| env::temp_dir().join(format!("nodewell-trial-{pid}-x"));
    let (left, ours) = ([folder(gone.id()), folder(unwaited.id())], folder(id()));
    left.iter().for_each(|left| fs::create_dir_all(left.join("root")).unwrap());
    fs::create_dir(&ours).unwrap();
    let new = leftovers::folder("trial");
    assert!(left.iter().all(|left| !left.exists()), "their processes have ended");
    assert!(ours.exists() && new.path().exists(), "this process lives");
    fs::remove_dir(ours).unwrap();
    unwaited.wait().unwrap();
}

fn a_machine_is_gone_when_dropped() {
    let machine = Machine::boot(Release::Bookworm);
    let leader = format!("/proc/{}", machine.leader());
    assert!(fs::exists(&leader).unwrap());
    if let Some(file) = env::var_os(TO_BE_KILLED) {
        fs::write(file, &leader).unwrap();
        until("this run is killed", || None::<()>);
    }
    drop(machine);
    assert!(!fs::exists(&leader).unwrap());
}

/// systemd-nspawn that is killed leaves its container behind.
fn a_machine_ends_with_a_killed_run() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut argv = vec![OsString::from("env"), format!("{TO_BE_KILLED}={}", file.path().display()).into()];
    argv.push(env::current_exe().unwrap().into_os_string());
    argv.extend(["--exact", "harness::a_machine_is_gone_when_dropped"].map(OsString::from));
    let mut run = Process::start(&argv, Path::new("/dev/null")).unwrap();
    let leader = until("the other run has a machine", || {
        assert!(run.ended().is_none(), "the other run ended before it was killed");
        Some(fs::read_to_string(file.path()).unwrap()).filter(|leader| !leader.is_empty())
    });
    assert!(fs::exists(&leader).unwrap());
    run.signal(Signal::SIGKILL);
    until("the machine has ended", || (!fs::exists(&leader).unwrap()).then_some(()));
}

fn the_kernel_numbers_what_we_write() {
    let kmsg = RealKmsg::take();
    let first = kmsg.write_numbered("nodewell tests: one");
    assert!(kmsg.write_numbered("nodewell tests: two") > first);
}

fn a_private_journal_takes_entries() {
    let journal = Journal::start();
    journal.send(&[("MESSAGE", "hello\nthere"), ("SYSLOG_IDENTIFIER", "nodewell-tests")]);
    let read = |command: &[&str]| {
        let mut argv = journal.enter();
        argv.extend(command.iter().map(OsString::from));
        let output = std::process::Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let found = nodewell_tests::wait::until("the entry is in the journal", || {
        let text = read(&["journalctl", "--quiet", "--output=cat", "SYSLOG_IDENTIFIER=nodewell-tests"]);
        (!text.is_empty()).then_some(text)
    });
    assert_eq!(found, "hello\nthere\n");
}
