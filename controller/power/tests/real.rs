//! Cases that need programs of other people's: each is run, or skipped by name with what is missing.

use libtest_mimic::{Arguments, Trial};

const AT_ONCE: usize = 4;

pub(crate) type Cases = &'static [(&'static str, fn())];

/// Each case of each group, or for each why it cannot run.
pub(crate) fn main(groups: &[(&str, Cases, Option<String>)]) -> std::process::ExitCode {
    let mut trials = Vec::new();
    for (group, cases, missing) in groups {
        for (name, case) in cases.iter().copied() {
            trials.push(match missing {
                None => Trial::test(format!("{group}::{name}"), move || {
                    case();
                    Ok(())
                }),
                Some(why) => {
                    eprintln!("{group}::{name}: skipped: {why}");
                    Trial::test(format!("{group}::{name} (skipped: {why})"), || Ok(())).with_ignored_flag(true)
                }
            });
        }
    }
    let mut arguments = Arguments::from_args();
    // Most of their time they wait for a late answer.
    arguments.test_threads.get_or_insert(AT_ONCE);
    libtest_mimic::run(&arguments, trials).exit_code()
}

pub(crate) fn run(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(case);
}
