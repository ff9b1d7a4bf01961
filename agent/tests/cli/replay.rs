//! `nodewell replay` of files that are damaged: what was read is reported, and that it is not all.

use std::{
    io::Write,
    path::Path,
    process::{Command, Output},
};

use flate2::{Compression, write::GzEncoder};

const FAULT: &str = "EXT4-fs error (device sda1): ext4_lookup:1855: inode #2: comm ls: deleted inode referenced: 12";

fn replay(file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nodewell")).args(["replay", "--unproven"]).arg(file).output().unwrap()
}

fn log() -> Vec<u8> {
    let noise = (1_u32..20_000).map(|n| format!("[{n:>5}.{:06}] line {}\n", n % 1000, n.wrapping_mul(2_654_435_761)));
    let mut log = format!("[    0.500000] {FAULT}\n").into_bytes();
    noise.for_each(|line| log.extend_from_slice(line.as_bytes()));
    log
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_was_read_of_a_damaged_file_is_reported_and_that_it_is_not_all() {
    let folder = tempfile::tempdir().unwrap();
    let whole = gzip(&log());
    let mut flipped = whole.clone();
    let middle = whole.len() / 2;
    flipped[middle..middle + 64].fill(0xff);
    for (name, bytes, code) in
        [("whole.gz", &whole[..], 0), ("short.gz", &whole[..middle], 65), ("flipped.gz", &flipped, 65)]
    {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let output = replay(&file);
        let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(shown.contains("Ext4Error") && shown.lines().count() == 1, "{name}: {shown}");
        assert_eq!(said.contains("the log ends early"), code != 0, "{name}: {said}");
    }
}
