//! Questions to the firmware of a MegaRAID card, through the management device of the kernel's driver (linux
//! drivers/scsi/megaraid/megaraid_sas_base.c `megasas_mgmt_ioctl_fw`, megaraid_sas.h `struct megasas_iocpacket`).
//!
//! The same call erases volumes and writes firmware: only the questions of [`Question`] can be asked here. The driver wants
//! `CAP_SYS_ADMIN` when the device is opened; a descriptor for reading is enough.
#![allow(unsafe_code)]

use std::{
    ffi::c_void,
    io,
    os::fd::{AsRawFd, BorrowedFd},
    ptr,
};

const FRAME_BYTES: usize = 128;
/// `MAX_IOCTL_SGE`.
const BUFFERS: usize = 16;

/// `struct megasas_iocpacket`, packed as there.
#[repr(C, packed)]
struct Packet {
    host_no: u16,
    pad: u16,
    sgl_off: u32,
    sge_count: u32,
    sense_off: u32,
    sense_len: u32,
    frame: [u8; FRAME_BYTES],
    sgl: [libc::iovec; BUFFERS],
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Packet>() == 404);

const MEGASAS_IOC_FIRMWARE: libc::Ioctl = libc::_IOWR::<Packet>(b'M' as u32, 1);
/// A direct command: a question to the firmware itself, or an order.
const MFI_CMD_DCMD: u8 = 0x05;
const MFI_FRAME_DIR_READ: u16 = 0x0010;
/// Where the driver writes the addresses of its own buffers into the frame (`struct megasas_dcmd_frame`).
const SGL_AT: u32 = 0x28;
const STATUS_AT: usize = 2;
/// No status of the firmware's (`MFI_STAT_INVALID_STATUS`): what stands there until it has answered. The driver returns 0 and
/// leaves it so when it is unloaded meanwhile.
const NO_STATUS: u8 = 0xff;
/// The driver mirrors the buffer in memory for DMA: of the longest answer, a large configuration.
const BUFFER_LIMIT_BYTES: usize = 128 * 1024;
const NO_BUFFER: libc::iovec = libc::iovec { iov_base: ptr::null_mut::<c_void>(), iov_len: 0 };

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Question {
    /// The card itself.
    Controller,
    /// All physical disks.
    Disks,
    /// One physical disk, by its device id.
    Disk(u16),
    /// All virtual disks, at most 64.
    Volumes,
    /// One virtual disk, by its target id.
    Volume(u8),
    /// Which disks make which volumes.
    Configuration,
    /// Of the write cache.
    Battery,
}

impl Question {
    /// `MR_DCMD_*`; QEMU's hw/scsi/mfi.h and FreeBSD's sys/dev/mfi/mfireg.h have them all.
    const fn opcode(self) -> u32 {
        match self {
            Self::Controller => 0x0101_0000,
            Self::Disks => 0x0201_0000,
            Self::Disk(_) => 0x0202_0000,
            Self::Volumes => 0x0301_0000,
            Self::Volume(_) => 0x0302_0000,
            Self::Configuration => 0x0401_0000,
            Self::Battery => 0x0501_0000,
        }
    }

    /// What it is asked of, in the first bytes of the command's mailbox.
    const fn mailbox(self) -> [u8; 2] {
        match self {
            Self::Disk(device) => device.to_le_bytes(),
            Self::Volume(target) => [target, 0],
            Self::Controller | Self::Disks | Self::Volumes | Self::Configuration | Self::Battery => [0, 0],
        }
    }
}

/// Asks the card of SCSI host `host`. The firmware's status is returned (0: the answer is in `into`); the rest of `into` is
/// zero. The call may wait for minutes: for as long as a card is reset (up to 360 s), or its firmware does not answer.
pub fn ask(node: BorrowedFd<'_>, host: u16, question: Question, into: &mut [u8]) -> io::Result<u8> {
    let length = u32::try_from(into.len()).ok().filter(|_| (1..=BUFFER_LIMIT_BYTES).contains(&into.len()));
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    into.fill(0);
    let mut sgl = [NO_BUFFER; BUFFERS];
    sgl[0] = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut packet = Packet {
        host_no: host,
        pad: 0,
        sgl_off: SGL_AT,
        sge_count: 1,
        sense_off: 0,
        sense_len: 0,
        frame: frame(question, length),
        sgl,
    };
    // SAFETY: the packet is as the driver defines it and lives until the call is over. The driver reads it, writes the
    // status into its frame, and copies at most as many bytes as the one buffer has to it; the others are empty, and not
    // counted. No sense data is asked for.
    if unsafe { libc::ioctl(node.as_raw_fd(), MEGASAS_IOC_FIRMWARE, &raw mut packet) } != 0 {
        return Err(io::Error::last_os_error());
    }
    match packet.frame[STATUS_AT] {
        NO_STATUS => Err(io::Error::other("the firmware did not answer")),
        status => Ok(status),
    }
}

/// `struct megasas_dcmd_frame`, little endian on any machine.
fn frame(question: Question, length: u32) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[0] = MFI_CMD_DCMD;
    frame[STATUS_AT] = NO_STATUS;
    // The number of buffers.
    frame[0x07] = 1;
    frame[0x10..0x12].copy_from_slice(&MFI_FRAME_DIR_READ.to_le_bytes());
    frame[0x14..0x18].copy_from_slice(&length.to_le_bytes());
    frame[0x18..0x1c].copy_from_slice(&question.opcode().to_le_bytes());
    frame[0x1c..0x1e].copy_from_slice(&question.mailbox());
    frame
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_is_no_card_is_an_error_and_leaves_no_answer() {
        let file = tempfile::tempfile().unwrap();
        let mut answer = [7; 64];
        let refused = ask(file.as_fd(), 0, Question::Battery, &mut answer).unwrap_err();
        assert_eq!((refused.raw_os_error(), answer), (Some(libc::ENOTTY), [0; 64]));
    }

    #[test]
    fn a_buffer_that_no_answer_fits_is_refused_before_the_card_is_asked() {
        let file = tempfile::tempfile().unwrap();
        for length in [0, BUFFER_LIMIT_BYTES + 1] {
            let refused = ask(file.as_fd(), 0, Question::Controller, &mut vec![0; length]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{length}");
        }
    }

    #[test]
    fn a_frame_is_a_question_that_only_reads() {
        let sent = frame(Question::Disk(0x0123), 512);
        assert_eq!(sent[..8], [0x05, 0, 0xff, 0, 0, 0, 0, 1]);
        assert_eq!(sent[0x10..0x18], [0x10, 0, 0, 0, 0, 2, 0, 0]);
        assert_eq!(sent[0x18..0x20], [0, 0, 0x02, 0x02, 0x23, 0x01, 0, 0]);
        assert!(sent[0x20..].iter().all(|byte| *byte == 0));
        assert_eq!(frame(Question::Volume(9), 1)[0x18..0x1e], [0, 0, 0x02, 0x03, 9, 0]);
        assert_eq!(frame(Question::Volumes, 1)[0x18..0x1e], [0, 0, 0x01, 0x03, 0, 0]);
    }

    #[cfg(all(target_pointer_width = "64", target_os = "linux"))]
    #[test]
    fn the_request_number_is_the_kernels() {
        assert_eq!(MEGASAS_IOC_FIRMWARE, 0xc194_4d01);
    }
}
