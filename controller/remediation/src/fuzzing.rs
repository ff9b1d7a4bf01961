//! What the fuzzer calls (`tests/fuzz`): each function takes any bytes and panics if a promise is broken. The corpora
//! are replayed through the same functions by an ordinary test.

mod cel;
mod facts;
mod metadata;
mod methods;

pub use cel::cel;
pub use metadata::metadata;
pub use methods::methods;

#[cfg(test)]
mod tests {
    use nodewell_kit::replay_corpus;

    #[test]
    fn the_corpus_of_cel_expressions_is_harmless() {
        replay_corpus("cel", super::cel);
    }

    #[test]
    fn the_corpus_of_agents_metadata_is_harmless() {
        replay_corpus("metadata", super::metadata);
    }

    #[test]
    fn the_corpus_of_fence_properties_is_harmless() {
        replay_corpus("methods", super::methods);
    }
}
