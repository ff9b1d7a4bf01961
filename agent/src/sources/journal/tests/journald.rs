//! The source against a real journald, alone in a mount namespace of its own.

use std::{
    io::{BufRead, BufReader},
    os::unix::net::UnixDatagram,
    path::PathBuf,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::*;

const JOURNALD: &str = "/lib/systemd/systemd-journald";
const SCRIPT: &str = "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log && mkdir -p /run/systemd/journal \
                      && echo mounted && exec /lib/systemd/systemd-journald";

struct Journald {
    process: Child,
    root: PathBuf,
}

impl Journald {
    fn start(test: &str) -> Option<Self> {
        if !usable(test) {
            return None;
        }
        if !nix::unistd::geteuid().is_root() || !Path::new(JOURNALD).exists() {
            skip(test, "needs root and systemd-journald");
            return None;
        }
        let mut process = Command::new("unshare")
            .args(["--mount", "--propagation=private", "sh", "-c", SCRIPT])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Until then its /run is the machine's own.
        let mut word = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut word).unwrap();
        let root = PathBuf::from(format!("/proc/{}/root", process.id()));
        let journald = Self { process, root };
        if word != "mounted\n" {
            skip(test, "may not mount in a namespace of its own");
            return None;
        }
        Some(journald)
    }

    /// Its volatile journal, as seen from outside.
    fn directory(&self) -> PathBuf {
        self.root.join("run/log/journal")
    }

    fn follow(&self) -> Running {
        let mut options = options(&self.directory(), JournalStart::Head);
        options.matches = vec![("SYSLOG_IDENTIFIER".into(), "nodewell-test".into())];
        Running::start(Journal::new(options))
    }

    /// In journald's native protocol.
    fn log(&self, message: &str) {
        let entry = format!("MESSAGE={message}\nSYSLOG_IDENTIFIER=nodewell-test\n");
        let socket = UnixDatagram::unbound().unwrap();
        socket.send_to(entry.as_bytes(), self.root.join("run/systemd/journal/socket")).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.process.id()).unwrap()), signal).unwrap();
    }
}

impl Drop for Journald {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_real_journald_is_followed_through_its_rotations() {
    let Some(journald) = Journald::start("a_real_journald_is_followed_through_its_rotations") else { return };
    // It is there a moment after its socket; until then the source is blind.
    let running = journald.follow();
    running.until(|seen| seen.running());
    let mut expected = Vec::new();
    for round in 0..4 {
        for number in 0..50 {
            expected.push(format!("round {round} number {number}"));
            journald.log(expected.last().unwrap());
        }
        running.until(|seen| seen.texts() == expected);
        journald.signal(Signal::SIGUSR2);
    }
    let seen = running.until(|seen| seen.idles > 0);
    assert_eq!(seen.gaps, []);
    assert!(seen.running());
    let fields = &seen.records[0].fields;
    assert!(fields.contains(&("_PID", std::process::id().to_string())), "{fields:?}");
    let age = Timestamp::now().duration_since(seen.records[199].time);
    assert!(age.as_secs() < 10 && !age.is_negative(), "{age:?}");
}
