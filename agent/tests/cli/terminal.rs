//! A terminal that a test types on and looks at: `script` (bsdutils, util-linux) makes it.

use std::{
    fs,
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use tempfile::TempDir;

use crate::until;

/// A terminal with one program on it.
pub(crate) struct Terminal {
    folder: TempDir,
    script: Child,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// `None` where there is no `script`. `program` is a line of shell, which begins in the folder.
    pub(crate) fn open(columns: u16, rows: u16, folder: TempDir, program: &str) -> Option<Self> {
        let line = format!(
            "cd '{}'; stty cols {columns} rows {rows}; stty -g >before
             sh -c 'echo $$ >pid; exec {program}'
             echo $? >code; stty -g >after",
            folder.path().display()
        );
        let mut script = Command::new("script")
            .args(["-qfec", &line, "/dev/null"])
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .inspect_err(|_| eprintln!("SKIP terminals: `script` is not installed"))
            .ok()?;
        let mut output = script.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let write = Arc::clone(&shown);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                write.lock().unwrap().extend(&bytes[..length]);
            }
        });
        Some(Self { folder, script, shown })
    }

    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let text = || fs::read_to_string(self.file(name)).ok().filter(|text| text.ends_with('\n'));
        until(name, text).trim().to_owned()
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        let stdin = self.script.stdin.as_mut().unwrap();
        stdin.write_all(keys).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.read("pid")]).status().unwrap();
        assert!(sent.success());
    }

    /// The program ended with `code`, and the terminal is as it was.
    pub(crate) fn is_restored(&self, code: &str) {
        assert_eq!(self.read("code"), code);
        assert_eq!(self.read("before"), self.read("after"), "the modes of the terminal");
        let left = || Some(self.shown()).filter(|shown| shown.contains("\u{1b}[?1049l"));
        let shown = until("the alternate screen is left", left);
        let (_, rest) = shown.split_once("\u{1b}[?1049h").unwrap();
        let (_, after) = rest.rsplit_once("\u{1b}[?1049l").unwrap();
        assert!(rest.contains("\u{1b}[?25h") && rest.contains("\u{1b}[?7h"), "cursor and line wrap are back");
        assert!(!after.contains("DiskUnhealthy"), "nothing is drawn any more: {after:?}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // `script` hangs up its terminal, which ends what runs on it.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// The newest whole screen, a line for each row, without colours.
pub(crate) fn screen(shown: &str) -> Vec<String> {
    let frame = shown.split("\u{1b}[?2026h").filter_map(|part| part.split_once("\u{1b}[?2026l")).last();
    let (frame, _) = frame.expect("a screen was drawn");
    // A row is its text, and what comes after each escape sequence in it.
    let row = |row: &str| {
        let (text, rest) = row.split_once('\u{1b}').unwrap_or((row, ""));
        let parts = rest.split('\u{1b}').map(|part| part.split_once(['H', 'm']).map_or("", |(_, text)| text));
        text.to_owned() + &parts.collect::<String>()
    };
    frame.split("\u{1b}[K").skip(1).map(row).collect()
}
