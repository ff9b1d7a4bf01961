//! Replays what the fuzz targets start from, and what they found (`tests/fuzz/corpus`).

use std::{fs, path::Path};

/// Fewer are next to nothing.
const LEAST: usize = 20;

/// Runs a target's function on each file of its corpus.
///
/// # Panics
/// If the function does, or if there are next to no files.
pub fn replay_corpus(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= LEAST, "{} holds next to nothing", folder.display());
    for file in files {
        // Which one it was is the first thing to know of a failure.
        eprintln!("{}", file.display());
        run(&fs::read(file).unwrap());
    }
}
