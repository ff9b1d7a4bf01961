//! What the fuzzer calls (`tests/fuzz`): each function takes any bytes and panics if a promise is broken. The corpora
//! are replayed through the same functions by an ordinary test.

mod govaluate;

pub use govaluate::govaluate;

#[cfg(test)]
mod tests {
    use nodewell_kit::replay_corpus;

    #[test]
    fn the_corpus_of_govaluate_expressions_is_harmless() {
        replay_corpus("govaluate", super::govaluate);
    }
}
