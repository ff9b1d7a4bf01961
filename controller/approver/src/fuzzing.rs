//! What the fuzzer calls (`tests/fuzz`): each function takes any bytes and panics if a promise is broken. The corpora
//! are replayed through the same functions by an ordinary test.

mod csr;

pub use csr::csr;

#[cfg(test)]
mod tests {
    use nodewell_kit::replay_corpus;

    #[test]
    fn the_corpus_of_signing_requests_is_harmless() {
        replay_corpus("csr", super::csr);
    }
}
