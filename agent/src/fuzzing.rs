//! What the fuzzer calls (`tests/fuzz`): each function takes any bytes and panics if a promise is broken. The corpora
//! are replayed through the same functions by an ordinary test.

mod faults;
mod kmsg;
mod pstore;
mod replay;
mod report;
mod rules;

pub use faults::faults;
pub use kmsg::kmsg;
pub use pstore::pstore;
pub use replay::replay;
pub use report::report;
pub use rules::rules;

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    fn replay_corpus(target: &str, run: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(target);
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() >= 20, "{} holds next to nothing", folder.display());
        for file in files {
            // Which one it was is the first thing to know of a failure.
            eprintln!("{}", file.display());
            run(&fs::read(file).unwrap());
        }
    }

    #[test]
    fn the_corpus_of_reports_is_harmless() {
        replay_corpus("report", super::report);
    }

    #[test]
    fn the_corpus_of_kernel_records_is_harmless() {
        replay_corpus("kmsg", super::kmsg);
    }

    #[test]
    fn the_corpus_of_hardwares_lines_is_harmless() {
        replay_corpus("faults", super::faults);
    }

    #[test]
    fn the_corpus_of_pstore_records_is_harmless() {
        replay_corpus("pstore", super::pstore);
    }

    #[test]
    fn the_corpus_of_saved_logs_is_harmless() {
        replay_corpus("replay", super::replay);
    }

    #[test]
    fn the_corpus_of_rule_files_is_harmless() {
        replay_corpus("rules", super::rules);
    }
}
