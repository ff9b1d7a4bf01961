//! Whole-program tests: the real binaries against the real thing. A file for each behaviour; this one lists them.

#![allow(clippy::unwrap_used)]

mod api_double;
mod harness;

fn main() -> std::process::ExitCode {
    let mut suite = nodewell_tests::suite::Suite::default();
    harness::list(&mut suite);
    api_double::list(&mut suite);
    suite.run()
}
