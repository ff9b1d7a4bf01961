//! What the fuzzer calls (`tests/fuzz`): each function takes any bytes and panics if a promise is broken. The corpora
//! are replayed through the same functions by an ordinary test.

mod objects;

pub use objects::objects;

#[cfg(test)]
mod tests {
    use nodewell_kit::replay_corpus;

    #[test]
    fn the_corpus_of_the_api_servers_objects_is_harmless() {
        replay_corpus("objects", super::objects);
    }
}
