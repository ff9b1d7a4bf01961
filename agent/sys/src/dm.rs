//! The device mapper's word on a map: the line of its first target (linux/dm-ioctl.h, `DM_TABLE_STATUS`).
//!
//! The kernel wants `CAP_SYS_ADMIN` (drivers/md/dm-ioctl.c ctl_ioctl).
#![allow(unsafe_code)]

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

/// `struct dm_ioctl`; what follows it in the buffer is the kernel's answer.
#[repr(C)]
struct Head {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_nr: u32,
    padding: u32,
    dev: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

const HEAD_BYTES: usize = size_of::<Head>();
const _: () = assert!(HEAD_BYTES == 312);
/// `struct dm_target_spec`: start, length, status, offset of the next one, and the type's name in its last 16 bytes.
const SPEC_BYTES: usize = 40;
const TYPE_AT: usize = 24;
/// A status line of 16 KiB describes hundreds of paths.
const BUFFER_BYTES: usize = HEAD_BYTES + SPEC_BYTES + 16 * 1024;

const DM_TABLE_STATUS: libc::Ioctl = libc::_IOWR::<Head>(0xfd, 12);
/// The table that the map was made by, in place of its status.
const DM_STATUS_TABLE_FLAG: u32 = 1 << 4;
/// Without it a thin pool writes its metadata before it answers (drivers/md/dm-thin.c `pool_status`).
const DM_NOFLUSH_FLAG: u32 = 1 << 11;
/// The buffer was too small.
const DM_BUFFER_FULL_FLAG: u32 = 1 << 8;

/// Which line of a target is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// How it is.
    Status,
    /// What it was made by.
    Table,
}

/// One target of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// `multipath`, `linear`.
    pub kind: String,
    pub line: String,
}

/// The first target of the map with that device number; `control` is `/dev/mapper/control`. Nothing is written for it.
pub fn first_target(control: BorrowedFd<'_>, major: u32, minor: u32, line: Line) -> io::Result<Target> {
    // Words, so that the head is aligned.
    let mut words = vec![0_u64; BUFFER_BYTES.div_ceil(8)];
    let head = Head {
        version: [4, 0, 0],
        data_size: BUFFER_BYTES as u32,
        data_start: HEAD_BYTES as u32,
        flags: line.flags(),
        dev: huge_device(major, minor),
        ..Head::default()
    };
    // SAFETY: the buffer is longer than the head, aligned for it, and ours alone.
    unsafe { words.as_mut_ptr().cast::<Head>().write(head) };
    // SAFETY: the kernel reads and writes at most `data_size` bytes of the buffer, which is that long.
    if unsafe { libc::ioctl(control.as_raw_fd(), DM_TABLE_STATUS, words.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    target(&bytes).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

impl Line {
    fn flags(self) -> u32 {
        match self {
            Self::Status => DM_NOFLUSH_FLAG,
            Self::Table => DM_NOFLUSH_FLAG | DM_STATUS_TABLE_FLAG,
        }
    }
}

/// The kernel's `huge_encode_dev` (linux/kdev_t.h).
fn huge_device(major: u32, minor: u32) -> u64 {
    u64::from(minor & 0xff) | u64::from(major) << 8 | u64::from(minor & !0xff) << 12
}

fn target(bytes: &[u8]) -> Option<Target> {
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let (start, targets, flags) = (word(16)?, word(20)?, word(28)?);
    if targets == 0 || flags & DM_BUFFER_FULL_FLAG != 0 {
        return None;
    }
    let spec = bytes.get(usize::try_from(start).ok()?..)?;
    Some(Target { kind: text(spec.get(TYPE_AT..SPEC_BYTES)?), line: text(spec.get(SPEC_BYTES..)?) })
}

/// Up to the zero that ends it.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Default for Head {
    fn default() -> Self {
        Self {
            version: [0; 3],
            data_size: 0,
            data_start: 0,
            target_count: 0,
            open_count: 0,
            flags: 0,
            event_nr: 0,
            padding: 0,
            dev: 0,
            name: [0; 128],
            uuid: [0; 129],
            data: [0; 7],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_is_not_the_device_mapper_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        for line in [Line::Status, Line::Table] {
            let error = first_target(file.as_fd(), 253, 0, line).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{line:?}");
        }
    }

    #[test]
    fn numbers_are_the_kernels() {
        assert_eq!(DM_TABLE_STATUS, 0xc138_fd0c);
        assert_eq!(huge_device(253, 3), 0xfd03);
        assert_eq!(huge_device(8, 0x123), 0x10_0823);
        assert_eq!((Line::Status.flags(), Line::Table.flags()), (0x800, 0x810));
    }

    /// An answer as dm-ioctl.c's `retrieve_status` lays it out.
    fn answer(targets: u32, flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEAD_BYTES + SPEC_BYTES];
        bytes[16..20].copy_from_slice(&312_u32.to_ne_bytes());
        bytes[20..24].copy_from_slice(&targets.to_ne_bytes());
        bytes[28..32].copy_from_slice(&flags.to_ne_bytes());
        bytes[HEAD_BYTES + TYPE_AT..][..9].copy_from_slice(b"multipath");
        bytes.extend_from_slice(b"2 0 0 0 1 1 A 0 1 0 8:16 A 0 \0rest");
        bytes
    }

    #[test]
    fn the_first_target_is_found_in_the_answer() {
        let found = target(&answer(1, 0)).unwrap();
        assert_eq!((found.kind.as_str(), found.line.as_str()), ("multipath", "2 0 0 0 1 1 A 0 1 0 8:16 A 0 "));
        assert_eq!(target(&answer(0, 0)), None);
        assert_eq!(target(&answer(1, DM_BUFFER_FULL_FLAG)), None);
        assert_eq!(target(&answer(1, 0)[..300]), None);
        let mut beyond = answer(1, 0);
        beyond[16..20].fill(0xff);
        assert_eq!(target(&beyond), None);
    }
}
