//! Boots that are made up: an agent in a mount namespace where the kernel names the boot that a test wants, and where
//! pstore has what it left there.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use tempfile::TempDir;

use crate::cli::{Outcome, nodewell};

/// Its `/run` is its own, with nothing but the copy of the pstore records in it.
const SCRIPT: &str = r#"
mount --bind "$1" /proc/sys/kernel/random/boot_id && mount -t tmpfs tmpfs /run && mkdir -p /run/nodewell/pstore &&
mount --bind "$2" /run/nodewell/pstore && shift 2 && exec "$@"
"#;

/// What outlives the boots.
#[derive(Debug)]
pub struct Boots {
    dir: TempDir,
}

impl Default for Boots {
    fn default() -> Self {
        let boots = Self { dir: TempDir::with_prefix("nodewell-boots-").unwrap() };
        fs::create_dir(boots.dir.path().join("pstore")).unwrap();
        fs::create_dir(boots.dir.path().join("copy")).unwrap();
        boots.next(1);
        boots
    }
}

impl Boots {
    /// From now on it is boot `number`; an agent sees it at its next start.
    ///
    /// # Panics
    /// If there is no place for temporary files.
    pub fn next(&self, number: u32) {
        fs::write(self.boot_id(), format!("00000000-0000-4000-8000-{number:012x}\n")).unwrap();
    }

    /// The kernel panicked: a record in EFI variables, of now and in two parts; and the oneshot ran at the boot after.
    ///
    /// # Panics
    /// If it fails.
    pub fn panicked(&self, message: &str) {
        let now = Timestamp::now().as_second();
        let (older, newer) = message.split_at(message.find('\n').map_or(0, |end| end + 1));
        let record = |part: u32, text: &str| {
            let name = format!("dmesg-efi-{now}{part:02}001");
            fs::write(self.dir.path().join("pstore").join(name), format!("Panic#1 Part{part}\n{text}")).unwrap();
        };
        record(1, newer);
        record(2, older);
        let outcome = self.collect_pstore();
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }

    /// `nodewell collect-pstore`, into where the agent sees it.
    fn collect_pstore(&self) -> Outcome {
        let at = |name: &str| self.dir.path().join(name).into_os_string();
        let to = self.dir.path().join("new-copy");
        let args = ["--to".into(), to.clone().into_os_string(), "--pstore".into(), at("pstore")];
        let archive = ["--archive".into(), at("archive")];
        let outcome = nodewell([OsString::from("collect-pstore")].into_iter().chain(args).chain(archive));
        // The namespace has the folder itself: what is in it changes, not the folder.
        for folder in ["pstore", "archive"] {
            let _ = fs::remove_dir_all(self.dir.path().join("copy").join(folder));
            fs::rename(to.join(folder), self.dir.path().join("copy").join(folder)).unwrap();
        }
        outcome
    }

    /// What to put before a command that is to live in these boots.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        let argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"];
        let mut argv: Vec<OsString> = argv.map(OsString::from).to_vec();
        argv.extend([self.boot_id().into_os_string(), self.dir.path().join("copy").into_os_string()]);
        argv
    }

    fn boot_id(&self) -> PathBuf {
        self.dir.path().join("boot_id")
    }
}

/// The agent's note on the boot, in its state directory.
#[must_use]
pub fn note(folder: &Path) -> Option<serde_json::Value> {
    serde_json::from_slice(&fs::read(folder.join("state/boot-id")).ok()?).ok()
}
