//! The calls of an older kernel, for one program: what came after Linux 4.18 fails as it would there.
//!
//! A guest has an older kernel as a whole, and takes minutes.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

const SOURCE: &str = include_str!("old_kernel/calls.c");
const COMPILER: &str = "/usr/bin/cc";
/// Who has them is in the source.
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// The way into such a kernel.
#[derive(Debug)]
pub struct OldKernel {
    dir: TempDir,
}

impl OldKernel {
    /// Linux 4.18: the oldest that the documents name.
    ///
    /// # Panics
    /// If the compiler fails.
    #[must_use]
    pub fn make() -> Self {
        let kernel = Self { dir: TempDir::with_prefix("nodewell-calls-").unwrap() };
        let source = kernel.dir.path().join("calls.c");
        fs::write(&source, SOURCE).unwrap();
        let mut compile = Command::new(COMPILER);
        compile.args(["-O1", "-Wall", "-Werror", "-o"]).arg(kernel.program()).arg(&source);
        assert!(compile.status().unwrap().success());
        // Who enters it may be another user.
        let status = Command::new("chmod").arg("755").args([kernel.dir.path(), &kernel.program()]).status();
        assert!(status.unwrap().success());
        kernel
    }

    /// What to put before a command that is to run on it.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        vec![self.program().into()]
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("calls")
    }
}

/// Why this machine cannot play one.
#[must_use]
pub fn unmet() -> Option<String> {
    if !ARCHITECTURES.contains(&std::env::consts::ARCH) {
        return Some(format!("needs {}, whose calls are known", ARCHITECTURES.join(" or ")));
    }
    (!Path::new(COMPILER).exists()).then(|| format!("needs {COMPILER}, for a program that hides newer calls"))
}
