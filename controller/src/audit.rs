//! The audit: a line of JSON for each act that cannot be taken back and each change of a record, in the journal and in a
//! file. A thread of its own writes it: a disk that is full or hangs delays no act. The intent of every act is in its
//! record before; this is what is left when the record is gone.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::{
        fs::{MetadataExt, OpenOptionsExt},
        net::UnixDatagram,
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::Duration,
};

use nodewell_journal::native::{Entry, SOCKET};
use nodewell_reconcile::audit::{Audit, AuditEntry};
use serde_json::{Value, json};

/// As `journalctl MESSAGE_ID=` takes it.
pub const MESSAGE_ID: &str = "6d1b8a3f5c0e4f7e9a52d6c1b7e84f20";
/// Where the service manager makes a folder for it (`LogsDirectory=`).
const FILE: &str = "audit.jsonl";
/// Lines that wait for a slow disk. A storm that is fenced has some ten a second.
const WAITING: usize = 4096;
/// What remains is written before the program ends, if the disk takes it.
const FAREWELL: Duration = Duration::from_secs(2);

/// Lines that were written, and that the file did not get.
#[derive(Debug, Default)]
pub struct Counts {
    written: AtomicU64,
    lost: AtomicU64,
}

impl Counts {
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// They are in the journal, as far as that took them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Where it goes by default; nothing outside a service.
#[must_use]
pub fn default_file() -> Option<PathBuf> {
    let folder = std::env::var_os("LOGS_DIRECTORY").map(PathBuf::from).filter(|folder| folder.is_absolute());
    folder.map(|folder| folder.join(FILE))
}

/// The writer, which ends with what is left in it when this is dropped.
#[derive(Debug)]
pub struct Writer {
    lines: Option<SyncSender<String>>,
    done: Receiver<()>,
    counts: Arc<Counts>,
}

/// Starts the thread. Nothing waits for it, and no error of it is one of the controller.
///
/// # Errors
/// If there are no more threads.
pub fn start(file: Option<PathBuf>, host: String) -> io::Result<(Writer, Audit)> {
    start_beside(PathBuf::from(SOCKET), file, host)
}

/// `journal` is where journald listens.
fn start_beside(journal: PathBuf, file: Option<PathBuf>, host: String) -> io::Result<(Writer, Audit)> {
    let (lines, waiting) = sync_channel::<String>(WAITING);
    let (finished, done) = sync_channel(1);
    let counts = Arc::<Counts>::default();
    let counted = Arc::clone(&counts);
    std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
        write_all(&waiting, &journal, file.as_deref(), &counted);
        // The program may have ended without waiting for this.
        let _ = finished.send(());
    })?;
    let (sender, counted) = (lines.clone(), Arc::clone(&counts));
    let audit = Audit::new(move |entry| {
        if sender.try_send(line(&entry, &host)).is_err() {
            counted.lost.fetch_add(1, Ordering::Relaxed);
        }
    });
    Ok((Writer { lines: Some(lines), done, counts }, audit))
}

impl Writer {
    #[must_use]
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// The end of the program: `audit` is dropped before. A disk that hangs is not waited for.
    pub fn finish(mut self) {
        self.lines.take();
        let _ = self.done.recv_timeout(FAREWELL);
    }
}

fn line(entry: &AuditEntry, host: &str) -> String {
    let mut line: Value = json!(entry);
    line["host"] = json!(host);
    line.to_string()
}

fn write_all(lines: &Receiver<String>, journal: &Path, file: Option<&Path>, counts: &Counts) {
    let socket = UnixDatagram::unbound().and_then(|socket| socket.set_nonblocking(true).map(|()| socket)).ok();
    let mut open: Option<File> = None;
    let mut is_failing = false;
    while let Ok(line) = lines.recv() {
        socket.iter().for_each(|socket| drop(socket.send_to(entry(&line).bytes(), journal)));
        let Some(path) = file else { continue };
        match append(path, &mut open, &line) {
            Ok(()) => {
                counts.written.fetch_add(1, Ordering::Relaxed);
                is_failing = false;
            }
            Err(error) => {
                counts.lost.fetch_add(1, Ordering::Relaxed);
                open = None;
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::error!(file = %path.display(), %error, "the audit cannot be written; the journal has it");
                }
            }
        }
    }
}

fn entry(line: &str) -> Entry {
    let entry = Entry::default().field("PRIORITY", "5").field("SYSLOG_IDENTIFIER", "nodewell-controller");
    entry.field("MESSAGE_ID", MESSAGE_ID).field("MESSAGE", line)
}

/// One line, on the disk when this returns. A file that was moved away by a rotation is left alone.
fn append(path: &Path, open: &mut Option<File>, line: &str) -> io::Result<()> {
    let is_same = |file: &File| {
        let (there, here) = (std::fs::metadata(path).ok()?, file.metadata().ok()?);
        Some((there.dev(), there.ino()) == (here.dev(), here.ino()))
    };
    if !open.as_ref().and_then(is_same).unwrap_or_default() {
        *open = Some(OpenOptions::new().append(true).create(true).mode(0o640).open(path)?);
    }
    let Some(file) = open else { return Ok(()) };
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use nodewell_reconcile::audit::Audited;
    use nodewell_remediation::{
        action::EventDraft,
        api::fence::{NodeFence, NodeFenceSpec, NodeFenceStatus, Phase},
    };

    use super::*;

    fn entry_of(node: &str) -> AuditEntry {
        AuditEntry {
            at: jiff::Timestamp::UNIX_EPOCH,
            term: 3,
            node: node.into(),
            record: "u-1".into(),
            policy: "lost".into(),
            what: Audited::Phase {
                from: Some(Phase::AwaitGuards),
                to: Phase::PoweringOff,
                reason: "FenceStarted".into(),
                message: "silent".into(),
            },
            cause: "its Lease is silent".into(),
            asked_by: None,
        }
    }

    /// Through the same path as the executor's: `Audit` is only a function.
    fn send(writer: &Writer, entry: &AuditEntry) {
        writer.lines.as_ref().unwrap().try_send(line(entry, "cp-1")).unwrap();
    }

    #[test]
    fn each_line_is_one_object_with_who_what_and_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        let (mut writer, audit) = start(Some(file.clone()), "cp-1".into()).unwrap();
        send(&writer, &entry_of("n1"));
        let counts = writer.counts();
        drop(audit);
        writer.lines.take();
        // However long the disk takes.
        writer.done.recv().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let line: Value = serde_json::from_str(text.trim()).unwrap();
        assert_eq!(
            (&line["host"], &line["what"], &line["to"]),
            (&json!("cp-1"), &json!("phase"), &json!("PoweringOff"))
        );
        assert_eq!((&line["node"], &line["cause"]), (&json!("n1"), &json!("its Lease is silent")));
        assert_eq!((counts.written(), counts.lost()), (1, 0));
    }

    /// As the executor hands them over, and by an entry of the native protocol that `journalctl MESSAGE_ID=` finds.
    #[test]
    fn what_the_controller_reports_is_in_the_file_and_in_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let (file, socket) = (folder.path().join("audit.jsonl"), folder.path().join("socket"));
        let journal = UnixDatagram::bind(&socket).unwrap();
        journal.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (mut writer, audit) = start_beside(socket, Some(file.clone()), "cp-1".into()).unwrap();
        let spec = NodeFenceSpec { node_name: "n1".into(), ..NodeFenceSpec::default() };
        let fence = NodeFence { metadata: Default::default(), spec, status: NodeFenceStatus::default() };
        let why = EventDraft { reason: "FenceClosed".into(), message: "it is well".into(), warning: false };
        audit.record_ended(jiff::Timestamp::UNIX_EPOCH, 7, &fence, &why);
        drop(audit);
        writer.lines.take();
        writer.done.recv().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let line: Value = serde_json::from_str(text.trim()).unwrap();
        let found = ["what", "node", "term", "reason", "host"].map(|key| line[key].clone());
        assert_eq!(json!(found), json!(["recordEnds", "n1", 7, "FenceClosed", "cp-1"]));
        let mut entry = vec![0; 4096];
        let length = journal.recv(&mut entry).unwrap();
        let entry = String::from_utf8_lossy(&entry[..length]);
        for field in [format!("MESSAGE_ID={MESSAGE_ID}"), format!("MESSAGE={}", text.trim())] {
            assert!(entry.lines().any(|line| line == field), "{field} is not in {entry}");
        }
    }

    #[test]
    fn a_rotated_file_is_left_alone_and_another_begun() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("audit.jsonl"), folder.path().join("audit.jsonl.1"));
        let mut open = None;
        append(&path, &mut open, "one").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        append(&path, &mut open, "two").unwrap();
        append(&path, &mut open, "three").unwrap();
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\nthree\n");
    }

    /// A FIFO without a reader is a disk that hangs: opening it for writing never returns.
    #[test]
    fn a_disk_that_hangs_holds_up_no_act_and_what_is_lost_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("audit.jsonl");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        let (writer, audit) = start(Some(fifo), "cp-1".into()).unwrap();
        let (lines, counts) = (writer.lines.clone().unwrap(), writer.counts());
        let mut refused = 0;
        for number in 0..WAITING + 10 {
            refused += usize::from(lines.try_send(line(&entry_of(&format!("n{number}")), "cp-1")).is_err());
        }
        assert!(refused >= 9, "one may be in the writer's hands: {refused}");
        assert_eq!(counts.written(), 0);
        drop((lines, audit));
        // Returns although the thread never does.
        writer.finish();
    }
}
