//! NVMe admin commands that only read: Get Log Page and Identify Controller, through the controller's character device.
//!
//! The kernel wants `CAP_SYS_ADMIN` for them (drivers/nvme/host/ioctl.c); a descriptor opened for reading is enough.
#![allow(unsafe_code)]

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    rsvd1: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<AdminCommand>() == 72);

const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = libc::_IOWR::<AdminCommand>(b'N' as u32, 0x41);
/// NVMe base specification, figure "Opcodes for Admin Commands".
const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
/// `CNS` of Identify: the controller's own data.
const CNS_CONTROLLER: u32 = 0x01;
/// The log of the whole controller, not of one namespace.
const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// Why a command brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The controller's answer: status code type and status code, `0x109` is "invalid log page".
    #[error("the controller answered with status {0:#x}")]
    Status(u16),
}

/// The first bytes of a log page, as many as `into` has: four or a multiple of four, at most 256 kB.
pub fn log_page(controller: BorrowedFd<'_>, page: u8, into: &mut [u8]) -> Result<(), AdminError> {
    // The number of dwords, counted from zero; its lower half is in the upper half of the dword.
    let cdw10 = u32::from(page) | u32::from(last_dword(into.len())?) << 16;
    submit(
        controller,
        AdminCommand { opcode: GET_LOG_PAGE, nsid: ALL_NAMESPACES, cdw10, ..AdminCommand::default() },
        into,
    )
}

/// What the controller reports of itself: 4,096 bytes.
pub fn identify_controller(controller: BorrowedFd<'_>, into: &mut [u8; 4096]) -> Result<(), AdminError> {
    let command = AdminCommand { opcode: IDENTIFY, cdw10: CNS_CONTROLLER, ..AdminCommand::default() };
    submit(controller, command, into)
}

/// `timeout_ms` stays 0, the kernel's own 60 s: when an admin command runs out of time the driver resets the controller, and
/// a monitor must not be what resets a slow disk.
fn submit(controller: BorrowedFd<'_>, mut command: AdminCommand, into: &mut [u8]) -> Result<(), AdminError> {
    command.data_len = u32::try_from(into.len()).map_err(|_| bad_length())?;
    command.addr = into.as_mut_ptr().addr() as u64;
    // SAFETY: the command is as the kernel defines it, and it writes at most `data_len` bytes at `addr`, which is `into`.
    let answer = unsafe { libc::ioctl(controller.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, &raw mut command) };
    match u16::try_from(answer) {
        Ok(0) => Ok(()),
        Ok(status) => Err(AdminError::Status(status)),
        Err(_) => Err(io::Error::last_os_error().into()),
    }
}

/// The controller writes whole dwords, and one at least whatever length the kernel was given: a buffer of other lengths
/// would be overrun.
fn last_dword(bytes: usize) -> io::Result<u16> {
    if bytes == 0 || !bytes.is_multiple_of(4) {
        return Err(bad_length());
    }
    u16::try_from(bytes / 4 - 1).map_err(|_| bad_length())
}

fn bad_length() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_is_no_controller_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        let refused = log_page(file.as_fd(), 2, &mut [0; 512]).unwrap_err();
        assert!(matches!(refused, AdminError::Io(error) if error.raw_os_error() == Some(libc::ENOTTY)));
        assert!(identify_controller(file.as_fd(), &mut [0; 4096]).is_err());
    }

    #[test]
    fn a_buffer_that_the_controller_would_overrun_is_refused_before_it_is_asked() {
        let file = tempfile::tempfile().unwrap();
        for length in [0, 3, 6, 4 * 65_536 + 4] {
            let refused = log_page(file.as_fd(), 1, &mut vec![0; length]).unwrap_err();
            let is_ours = matches!(&refused, AdminError::Io(error) if error.kind() == io::ErrorKind::InvalidInput);
            assert!(is_ours, "{length}: {refused}");
        }
        assert_eq!((last_dword(4).unwrap(), last_dword(4 * 65_536).unwrap()), (0, u16::MAX));
    }

    #[test]
    fn the_request_number_is_the_kernels() {
        assert_eq!(NVME_IOCTL_ADMIN_CMD, 0xc048_4e41);
    }
}
