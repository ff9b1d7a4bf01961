//! Opens and reads the kernel log: the character device, one record a read, or (for tests and saved logs) a file or
//! FIFO with the same lines.

use std::{
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
    path::Path,
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};

use crate::{
    runtime::activation::is_kernel_log,
    sources::framer::{Flush, Framer, Joining},
};

/// The kernel's longest record with its fields (`CONSOLE_EXT_LOG_MAX`) is 8 KiB; it answers EINVAL to a smaller buffer.
const RECORD_BYTES: usize = 16 * 1024;
const RECORD_LIMIT_BYTES: usize = 1024 * 1024;

/// What one look at the input gave.
pub(crate) enum Look<'a> {
    Record(&'a [u8]),
    /// Nothing now.
    Nothing,
    /// The ring went past us; the next read is at its oldest record.
    Overrun,
}

/// An open kernel log.
pub(crate) enum Device {
    Ring { file: File, buffer: Vec<u8> },
    Stream(Stream),
}

/// A file or FIFO with records as lines.
pub(crate) struct Stream {
    file: File,
    framer: Framer,
    /// Nothing more was there at the last read: what is held is complete.
    quiet: bool,
    /// A pipe without writers is at its end, and would be ready for ever.
    ended: bool,
    /// A regular file cannot be polled; this reports that it grew.
    growth: Option<Inotify>,
}

impl Device {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::of(open_path(path)?, path)
    }

    /// The log that another process has opened. It stays open when this is dropped.
    pub(crate) fn adopt(descriptor: &OwnedFd) -> io::Result<Self> {
        // The service manager passes descriptors on in blocking mode unless configured otherwise (`NonBlocking=`).
        let flags = OFlag::from_bits_retain(fcntl(descriptor, FcntlArg::F_GETFL)?);
        fcntl(descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        Self::of(File::from(descriptor.try_clone()?), Path::new(&path))
    }

    fn of(file: File, path: &Path) -> io::Result<Self> {
        let kind = file.metadata()?.file_type();
        if kind.is_dir() {
            return Err(Errno::EISDIR.into());
        }
        if kind.is_char_device() {
            return Ok(Self::Ring { file, buffer: vec![0; RECORD_BYTES] });
        }
        let growth = kind.is_file().then(|| watch(path)).transpose()?;
        let framer = Framer::new(Joining::Indented, 0);
        Ok(Self::Stream(Stream { file, framer, quiet: false, ended: false, growth }))
    }

    /// Goes to the ring's oldest record, or behind its newest.
    pub(crate) fn seek(&mut self, to: SeekFrom) -> io::Result<()> {
        match self {
            Self::Ring { file, .. } => file.seek(to).map(drop),
            // A FIFO has no position; what it has is what is new.
            Self::Stream(Stream { file, .. }) => file.seek(to).map(drop).or(Ok(())),
        }
    }

    pub(crate) fn is_ring(&self) -> bool {
        matches!(self, Self::Ring { .. })
    }

    /// Whether it is the kernel's own log.
    pub(crate) fn is_kernels(&self) -> bool {
        matches!(self, Self::Ring { file, .. } if is_kernel_log(file))
    }

    /// Whether a record that was read can be read again: not so from a FIFO.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Ring { .. } => true,
            Self::Stream(stream) => stream.growth.is_some(),
        }
    }

    /// What to poll for more.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Ring { file, .. } => file.as_fd(),
            Self::Stream(Stream { growth: Some(growth), .. }) => growth.as_fd(),
            Self::Stream(Stream { file, .. }) => file.as_fd(),
        }
    }

    pub(crate) fn look(&mut self) -> io::Result<Look<'_>> {
        match self {
            Self::Ring { file, buffer } => look_at_ring(file, buffer),
            Self::Stream(stream) => stream.look(),
        }
    }
}

fn look_at_ring<'a>(file: &mut File, buffer: &'a mut Vec<u8>) -> io::Result<Look<'a>> {
    loop {
        match file.read(buffer) {
            // A kernel log waits for its next record; another device, such as /dev/null, would be read for ever.
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "it is at its end: it is no kernel log")),
            Ok(length) => return Ok(Look::Record(&buffer[..length])),
            Err(error) => match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
                Errno::EAGAIN => return Ok(Look::Nothing),
                Errno::EPIPE => return Ok(Look::Overrun),
                Errno::EINTR => {}
                Errno::EINVAL if buffer.len() < RECORD_LIMIT_BYTES => buffer.resize(buffer.len() * 2, 0),
                _ => return Err(error),
            },
        }
    }
}

impl Stream {
    fn look(&mut self) -> io::Result<Look<'_>> {
        loop {
            let flush = if self.quiet { Flush::Quiet } else { Flush::More };
            if let Some(span) = self.framer.advance(flush) {
                return Ok(Look::Record(self.framer.frame(span).bytes));
            }
            if self.ended {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "all its writers have gone"));
            }
            if std::mem::take(&mut self.quiet) {
                return Ok(Look::Nothing);
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.drain_growth();
        match self.file.read(self.framer.room()) {
            Ok(0) => (self.quiet, self.ended) = (true, self.growth.is_none()),
            Ok(length) => self.framer.filled(length),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.quiet = true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Before the read, so that growth after it wakes us again.
    fn drain_growth(&self) {
        if let Some(growth) = &self.growth {
            while growth.read_events().is_ok_and(|events| !events.is_empty()) {}
        }
    }
}

/// A FIFO is opened for both directions: otherwise it is at its end, and ready, whenever no writer has it.
fn open_path(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits() | OFlag::O_CLOEXEC.bits() | OFlag::O_NOCTTY.bits());
    if path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        options.write(true);
    }
    options.open(path)
}

fn watch(path: &Path) -> io::Result<Inotify> {
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
    inotify.add_watch(path, AddWatchFlags::IN_MODIFY)?;
    Ok(inotify)
}
