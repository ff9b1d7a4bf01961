//! The harness itself: what it plays is what the machine would do.

use std::{ffi::OsString, fs};

use nodewell_tests::{
    journal::Journal,
    kmsg::RealKmsg,
    process::Process,
    suite::{Need, Suite},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("harness")
        .case("a_process_is_gone_when_dropped", a_process_is_gone_when_dropped)
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
