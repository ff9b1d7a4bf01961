//! A filesystem in user space whose program follows orders: it answers, leaves questions where they are, or takes them
//! and never answers. To a process that asks it is a server that hangs, with the kernel's own waits.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread::{self, JoinHandle},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::geteuid,
};
use tempfile::TempDir;

const DEVICE: &str = "/dev/fuse";
/// The kernel takes a buffer of no less than 8 KiB (`FUSE_MIN_READ_BUFFER`), and more for writes, which no test makes
/// here.
const BUFFER_BYTES: usize = 1 << 20;
/// How often it looks what it is to do.
const LOOK_MILLIS: u16 = 20;

const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const STATFS: u32 = 17;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;

/// What it does with questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// At once, also those that it has taken before.
    Answers,
    /// A process that waits can be killed.
    Leaves,
    /// A process that waits cannot even be killed (`request_wait_answer` in fs/fuse/dev.c).
    Takes,
    /// Its program has ended; the mount is still there.
    Ended,
}

/// Unmounted when it is dropped.
#[derive(Debug)]
pub struct Fuse {
    folder: TempDir,
    manner: Arc<AtomicU8>,
    program: Option<JoinHandle<()>>,
}

impl Fuse {
    /// Mounts one that answers.
    ///
    /// # Panics
    /// If a step fails.
    #[must_use]
    pub fn mounted() -> Self {
        let folder = TempDir::with_prefix("nodewell-fuse-").unwrap();
        let point = folder.path().join("mnt");
        fs::create_dir(&point).unwrap();
        let device = File::options().read(true).write(true).open(DEVICE).unwrap();
        let mut mount = Command::new("mount");
        mount.args([
            "-i",
            "-t",
            "fuse.nodewell",
            "-o",
            "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other",
            "made-up",
        ]);
        // Our descriptor becomes its standard input: the kernel takes it by number from the process that mounts.
        let output = mount.arg(&point).stdin(Stdio::from(device.try_clone().unwrap())).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let manner = Arc::new(AtomicU8::new(Manner::Answers as u8));
        let heard = Arc::clone(&manner);
        let program = Some(thread::spawn(move || serve(device, &heard)));
        Self { folder, manner, program }
    }

    /// The root of its files; there are none.
    #[must_use]
    pub fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    /// From now on.
    pub fn behave(&mut self, manner: Manner) {
        self.manner.store(manner as u8, Ordering::SeqCst);
        if manner == Manner::Ended {
            let _ = self.program.take().map(JoinHandle::join);
        }
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        // A process that waits for an answer gets an error when the program is gone.
        self.behave(Manner::Ended);
        let _ = Command::new("umount").args(["--lazy", "--quiet"]).arg(self.mount_point()).status();
    }
}

/// Until it is to end; closing the device ends the connection.
fn serve(mut device: File, manner: &AtomicU8) {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        let now = manner.load(Ordering::SeqCst);
        if now == Manner::Ended as u8 {
            return;
        }
        if now == Manner::Answers as u8 {
            taken.drain(..).for_each(|question| answer(&mut device, &question));
        }
        if now == Manner::Leaves as u8 {
            thread::sleep(std::time::Duration::from_millis(LOOK_MILLIS.into()));
            continue;
        }
        taken.extend(next(&mut device));
    }
}

/// A question, if one comes soon.
fn next(device: &mut File) -> Option<Vec<u8>> {
    let mut polled = [PollFd::new(device.as_fd(), PollFlags::POLLIN)];
    poll(&mut polled, PollTimeout::from(LOOK_MILLIS)).ok().filter(|ready| *ready > 0)?;
    let mut question = vec![0; BUFFER_BYTES];
    // One that was taken back meanwhile is no error.
    let length = device.read(&mut question).ok()?;
    question.truncate(length);
    Some(question)
}

/// `struct fuse_in_header` and the operations of include/uapi/linux/fuse.h, as far as a test asks here.
fn answer(device: &mut File, question: &[u8]) {
    let opcode = u32::from_ne_bytes(question[4..8].try_into().unwrap());
    let unique = &question[8..16];
    let (error, body) = match opcode {
        FORGET | BATCH_FORGET | INTERRUPT => return,
        INIT => (0, init()),
        STATFS => (0, room()),
        GETATTR => (0, attributes()),
        _ => (-nix::libc::ENOSYS, Vec::new()),
    };
    let mut reply = u32::try_from(16 + body.len()).unwrap().to_ne_bytes().to_vec();
    reply.extend(error.to_ne_bytes());
    reply.extend(unique);
    reply.extend(body);
    // The process that asked may have been killed.
    let _ = device.write_all(&reply);
}

/// `struct fuse_init_out` of protocol 7.31: no feature, small writes.
fn init() -> Vec<u8> {
    words(&[7, 31, 0, 0, 0, 4096, 1, 0], 64)
}

/// `struct fuse_statfs_out`: 1000 blocks of 4 KiB, nearly all of them free.
fn room() -> Vec<u8> {
    let mut body: Vec<u8> = [1000_u64, 900, 900, 0, 0].iter().flat_map(|count| count.to_ne_bytes()).collect();
    body.extend(words(&[4096, 255, 4096], 40));
    body
}

/// `struct fuse_attr_out`: an empty folder.
fn attributes() -> Vec<u8> {
    // Its times and its size are zero; then mode, links, owner.
    let mut body = vec![0; 16 + 6 * 8 + 3 * 4];
    body.extend(words(&[0o040_755, 2], 104 - 76));
    body
}

fn words(words: &[u32], bytes: usize) -> Vec<u8> {
    let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    body.resize(bytes, 0);
    body
}

/// Why this machine cannot have one.
#[must_use]
pub fn unmet() -> Option<String> {
    let can = geteuid().is_root() && Path::new(DEVICE).exists();
    (!can).then(|| format!("needs root and {DEVICE}"))
}
