//! Cases that need programs of other people's: each is run, or skipped by name with what is missing.

use libtest_mimic::{Arguments, Trial};

const AT_ONCE: usize = 4;

/// Runs `cases`, or prints for each why it cannot run.
pub(crate) fn main(cases: &[(&'static str, fn())], missing: impl Fn() -> Option<String>) -> std::process::ExitCode {
    let mut trials = Vec::new();
    for (name, case) in cases.iter().copied() {
        match missing() {
            None => trials.push(Trial::test(name, move || {
                case();
                Ok(())
            })),
            Some(why) => {
                eprintln!("{name}: skipped: {why}");
                trials.push(Trial::test(format!("{name} (skipped: {why})"), || Ok(())).with_ignored_flag(true));
            }
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
