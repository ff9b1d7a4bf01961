//! One door to the parsers of what firmware answers, for the fuzz target `firmware` and for the test that replays its corpus
//! on stable.

use crate::{bmc, disk::megaraid, inventory};

/// A RAID card's answers, a BMC's event log, a board's tables: each parser gets the same bytes.
pub fn firmware(bytes: &[u8]) {
    megaraid::fuzzing::raid(bytes);
    bmc::fuzzing::event_log(bytes);
    inventory::fuzzing::tables(bytes);
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_corpus_breaks_nothing() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus/firmware");
        let inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(inputs.len() >= 20);
        for input in inputs {
            firmware(&fs::read(input).unwrap());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_anything(bytes in proptest::collection::vec(any::<u8>(), 0..2100)) {
            firmware(&bytes);
        }
    }
}
