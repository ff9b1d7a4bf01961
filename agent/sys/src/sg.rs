//! SCSI commands that bring data or nothing, through `SG_IO` on a block device (linux include/scsi/sg.h).
//!
//! ATA commands go the same way, wrapped; the kernel wants `CAP_SYS_RAWIO` for those (drivers/scsi/scsi_ioctl.c).
#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_uchar, c_uint, c_ushort, c_void},
    io,
    os::fd::{AsRawFd, BorrowedFd},
    ptr,
    time::Duration,
};

/// `struct sg_io_hdr` of scsi/sg.h.
#[repr(C)]
struct Header {
    interface_id: c_int,
    dxfer_direction: c_int,
    cmd_len: c_uchar,
    mx_sb_len: c_uchar,
    iovec_count: c_ushort,
    dxfer_len: c_uint,
    dxferp: *mut c_void,
    cmdp: *mut c_uchar,
    sbp: *mut c_uchar,
    timeout: c_uint,
    flags: c_uint,
    pack_id: c_int,
    usr_ptr: *mut c_void,
    status: c_uchar,
    masked_status: c_uchar,
    msg_status: c_uchar,
    sb_len_wr: c_uchar,
    host_status: c_ushort,
    driver_status: c_ushort,
    resid: c_int,
    duration: c_uint,
    info: c_uint,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Header>() == 88);

const SG_IO: libc::Ioctl = 0x2285;
const SG_DXFER_NONE: c_int = -1;
const SG_DXFER_FROM_DEV: c_int = -3;
/// The longest sense data that SPC-4 knows.
const SENSE_BYTES: usize = 252;
/// The kernel's own limit for a command of a disk (`SD_TIMEOUT` is 30 s, sg's is 60 s). Not shorter: what runs out of time
/// makes the kernel abort, then reset the device, and a monitor must not be what resets a slow disk.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// The SCSI status: 0 good, 2 check condition.
    pub status: u8,
    /// The kernel's `DID_*` for the transport; 0 is good.
    pub host_status: u16,
    /// The kernel's status of the command; 8 means that there is sense data.
    pub driver_status: u16,
    pub sense: Vec<u8>,
    /// How many bytes of data were written.
    pub length: usize,
}

/// Sends a command that brings at most `into.len()` bytes; none if that is empty.
pub fn read(disk: BorrowedFd<'_>, command: &[u8], into: &mut [u8]) -> io::Result<Reply> {
    let mut command = command.to_vec();
    let mut sense = [0_u8; SENSE_BYTES];
    let mut header = header(&mut command, into, &mut sense)?;
    // SAFETY: the header is as the kernel defines it; each pointer is to as many bytes as its length says, and all live
    // until the call is over. The direction is from the device only.
    if unsafe { libc::ioctl(disk.as_raw_fd(), SG_IO, &raw mut header) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let missing = usize::try_from(header.resid).unwrap_or(0);
    Ok(Reply {
        status: header.status,
        host_status: header.host_status,
        driver_status: header.driver_status,
        sense: sense[..SENSE_BYTES.min(usize::from(header.sb_len_wr))].to_vec(),
        length: into.len().saturating_sub(missing),
    })
}

fn header(command: &mut [u8], into: &mut [u8], sense: &mut [u8; SENSE_BYTES]) -> io::Result<Header> {
    let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
    Ok(Header {
        interface_id: c_int::from(b'S'),
        dxfer_direction: if into.is_empty() { SG_DXFER_NONE } else { SG_DXFER_FROM_DEV },
        cmd_len: c_uchar::try_from(command.len()).map_err(too_long)?,
        mx_sb_len: SENSE_BYTES as c_uchar,
        iovec_count: 0,
        dxfer_len: c_uint::try_from(into.len()).map_err(too_long)?,
        dxferp: into.as_mut_ptr().cast(),
        cmdp: command.as_mut_ptr(),
        sbp: sense.as_mut_ptr(),
        timeout: c_uint::try_from(TIMEOUT.as_millis()).unwrap_or(c_uint::MAX),
        flags: 0,
        pack_id: 0,
        usr_ptr: ptr::null_mut(),
        status: 0,
        masked_status: 0,
        msg_status: 0,
        sb_len_wr: 0,
        host_status: 0,
        driver_status: 0,
        resid: 0,
        duration: 0,
        info: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_is_no_disk_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        let refused = read(file.as_fd(), &[0; 6], &mut []).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn a_command_longer_than_any_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(read(file.as_fd(), &[0; 300], &mut []).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
