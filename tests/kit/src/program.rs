//! Programs that tests write.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Writes a file that can be executed at once, in place of whatever was there.
///
/// The kernel refuses to execute a file that is open for writing (`ETXTBSY`). Had this process opened it, a child that
/// another thread is just starting would have it open too, until its own exec. Another process writes it therefore.
///
/// # Panics
/// If it cannot be written.
pub fn write_program(path: &Path, mode: u32, text: &str) {
    let mode = format!("--mode={mode:o}");
    let mut install = Command::new("install");
    let install =
        install.args([mode.as_ref(), "--no-target-directory".as_ref(), "/dev/stdin".as_ref(), path.as_os_str()]);
    let mut install = install.stdin(Stdio::piped()).spawn().unwrap();
    let written = install.stdin.take().unwrap().write_all(text.as_bytes());
    let is_done = install.wait().unwrap().success() && written.is_ok();
    assert!(is_done, "{} cannot be written", path.display());
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::PermissionsExt,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    /// Ends those that start processes, also when the test fails.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_runs_while_other_threads_start_processes() {
        let (folder, over) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let path = folder.path().join("program");
        // The longer it is written, the surer a child has it open.
        let story = "# a long story\n".repeat(20_000);
        thread::scope(|scope| {
            let over = Over(&over);
            for _ in 0..4 {
                scope.spawn(|| start_until(over.0));
            }
            for code in 0..100 {
                write_program(&path, 0o755, &format!("#!/bin/sh\nexit {code}\n{story}"));
                let ended = Command::new(&path).status().unwrap();
                assert_eq!(ended.code(), Some(code), "what was written last is run");
            }
        });
    }

    fn start_until(over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            assert!(Command::new("true").status().unwrap().success());
        }
    }

    #[test]
    fn its_mode_is_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        for mode in [0o757, 0o644] {
            write_program(&path, mode, "#!/bin/sh\n");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        }
    }
}
