//! The wrapper against the real library, where the machine has it, and a directory without journals.

use std::io::Write;

use super::*;

fn library(test: &str) -> Option<Arc<JournalLibrary>> {
    match JournalLibrary::load(JournalLibrary::NAME) {
        Ok(library) => Some(Arc::new(library)),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "SKIP {test}: {error}");
            None
        }
    }
}

#[test]
fn an_absent_library_is_named() {
    let error = JournalLibrary::load("libnodewell-absent.so.0").unwrap_err();
    assert!(error.to_string().starts_with("cannot load libnodewell-absent.so.0"), "{error}");
}

#[test]
fn a_library_without_the_symbols_names_the_first_that_is_missing() {
    let error = JournalLibrary::load("libc.so.6").unwrap_err();
    assert_eq!(error, JournalError::Symbol { library: "libc.so.6".into(), symbol: "sd_journal_open" });
}

#[test]
fn an_empty_directory_has_no_entries() {
    let Some(library) = library("an_empty_directory_has_no_entries") else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open_directory(library, dir.path()).unwrap();
    journal.set_data_threshold(65536).unwrap();
    journal.add_match("SYSLOG_IDENTIFIER", "a").unwrap();
    journal.add_disjunction().unwrap();
    journal.add_match("_PID", "1").unwrap();
    journal.seek_head().unwrap();
    assert!(!journal.step().unwrap());
    journal.seek_tail().unwrap();
    assert!(!journal.step_back().unwrap());
    journal.fd().unwrap();
    assert_eq!(journal.deadline().unwrap(), None);
    assert!(journal.realtime_usec().unwrap_err().errno().is_some());
    assert!(journal.data("MESSAGE").is_err());
    assert!(journal.cursor().is_err());
}

#[test]
fn bad_arguments_are_errors() {
    let Some(library) = library("bad_arguments_are_errors") else { return };
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let error = Journal::open_directory(Arc::clone(&library), &missing).unwrap_err();
    assert_eq!(error.errno(), Some(Errno::ENOENT));
    let mut journal = Journal::open_directory(library, dir.path()).unwrap();
    assert!(journal.seek_cursor("no cursor").is_err());
    assert!(journal.seek_cursor("nul\0").is_err());
    assert!(journal.data("").is_err());
    assert!(journal.add_match("lower case", "x").is_err());
}
