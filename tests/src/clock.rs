//! Clocks that jump, for one program: a library loaded before it adds offsets from a file to the kernel's clocks.
//!
//! A time namespace has no wall clock, and all processes share the machine's own.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

const SOURCE: &str = include_str!("clock/shift.c");
const COMPILER: &str = "/usr/bin/cc";

/// The clocks of one program.
#[derive(Debug)]
pub struct Clocks {
    dir: TempDir,
}

impl Clocks {
    /// Right, for now.
    ///
    /// # Panics
    /// If the compiler fails.
    #[must_use]
    pub fn right() -> Self {
        let clocks = Self { dir: TempDir::with_prefix("nodewell-clock-").unwrap() };
        let source = clocks.dir.path().join("shift.c");
        fs::write(&source, SOURCE).unwrap();
        let mut compile = Command::new(COMPILER);
        compile.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(clocks.library()).arg(&source);
        assert!(compile.status().unwrap().success());
        clocks.shift(0, 0);
        clocks
    }

    /// From now on the wall clock and the boot clock are so many seconds off: the first as if a person had set it, the
    /// second grows by what a suspend took, which `CLOCK_MONOTONIC` leaves out.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn shift(&self, wall_secs: i64, boot_secs: i64) {
        self.write(&[wall_secs, boot_secs], 0);
    }

    /// From now on the kernel reports that its clock may be off by so much; it reports 16 s where nothing synchronizes
    /// it.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn may_be_off(&self, micros: i64) {
        self.write(&[micros], 16);
    }

    fn write(&self, numbers: &[i64], at: u64) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        // In place: the program has it mapped.
        let file = fs::File::options().write(true).create(true).truncate(false).open(self.offsets()).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, at).unwrap();
    }

    /// What to put before a command that is to go by these clocks.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        let set = |name: &str, path: PathBuf| {
            let mut word = OsString::from(name);
            word.push(path);
            word
        };
        vec!["env".into(), set("LD_PRELOAD=", self.library()), set("NODEWELL_TEST_CLOCK=", self.offsets())]
    }

    fn library(&self) -> PathBuf {
        self.dir.path().join("shift.so")
    }

    fn offsets(&self) -> PathBuf {
        self.dir.path().join("offsets")
    }
}

/// Why this machine cannot have them.
#[must_use]
pub fn unmet() -> Option<String> {
    (!Path::new(COMPILER).exists()).then(|| format!("needs {COMPILER}, for a library that shifts the clock"))
}
