//! What the fuzzer calls (`tests/fuzz`): each function takes any bytes and panics if a promise is broken. The corpora
//! are replayed through the same functions by an ordinary test.

mod bmc;
mod printed;
mod supervisor;

pub use bmc::bmc;
pub use printed::printed;
pub use supervisor::supervisor;

#[cfg(test)]
mod tests {
    use nodewell_kit::replay_corpus;

    #[test]
    fn the_corpus_of_bmcs_answers_is_harmless() {
        replay_corpus("bmc", super::bmc);
    }

    #[test]
    fn the_corpus_of_what_programs_print_is_harmless() {
        replay_corpus("printed", super::printed);
    }

    #[test]
    fn the_corpus_of_supervisors_reports_is_harmless() {
        replay_corpus("supervisor", super::supervisor);
    }
}
