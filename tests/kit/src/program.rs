//! Programs that tests write.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Writes a file that can be executed at once, in place of whatever was there.
///
/// The kernel refuses to execute what somebody has open for writing (`ETXTBSY`). Had this process opened it, a child that
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
    install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(install.wait().unwrap().success(), "{} cannot be written", path.display());
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

    #[test]
    fn it_runs_while_other_threads_start_processes() {
        let (folder, over) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let path = folder.path().join("program");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        Command::new("true").status().unwrap();
                    }
                });
            }
            let run = |code: i32| {
                write_program(&path, 0o755, &format!("#!/bin/sh\nexit {code}\n"));
                Command::new(&path).status().map(|status| status.code())
            };
            let ended: Vec<_> = (0..200).map(run).collect();
            over.store(true, Ordering::Relaxed);
            for (ended, code) in ended.into_iter().zip(0..) {
                assert_eq!(ended.unwrap(), Some(code), "what was written last is run");
            }
        });
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
