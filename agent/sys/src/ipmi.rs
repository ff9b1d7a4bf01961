//! Commands to the board's management controller (BMC) through the kernel's IPMI character device: one command, one
//! answer, each with a deadline (linux include/uapi/linux/ipmi.h, drivers/char/ipmi/ipmi_devintf.c).
//!
//! The driver asks for no capability and for no right to write: a descriptor that is opened for reading is enough.
#![allow(unsafe_code)]

mod exchange;

use std::{
    ffi::{c_int, c_long, c_short, c_uchar, c_uint, c_ushort},
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::OpenOptionsExt,
    },
    path::Path,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use exchange::{Answer, Channel};

/// `struct ipmi_system_interface_addr`.
#[repr(C)]
struct Address {
    addr_type: c_int,
    channel: c_short,
    lun: c_uchar,
}

/// `struct ipmi_msg`.
#[repr(C)]
struct Message {
    netfn: c_uchar,
    cmd: c_uchar,
    data_len: c_ushort,
    data: *mut c_uchar,
}

/// `struct ipmi_req`.
#[repr(C)]
struct Sent {
    addr: *mut c_uchar,
    addr_len: c_uint,
    msgid: c_long,
    msg: Message,
}

/// `struct ipmi_recv`.
#[repr(C)]
struct Received {
    recv_type: c_int,
    addr: *mut c_uchar,
    addr_len: c_uint,
    msgid: c_long,
    msg: Message,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Address>() == 8 && size_of::<Sent>() == 40 && size_of::<Received>() == 48);

const IPMICTL_SEND_COMMAND: libc::Ioctl = libc::_IOR::<Sent>(b'i' as u32, 13);
const IPMICTL_RECEIVE_MSG_TRUNC: libc::Ioctl = libc::_IOWR::<Received>(b'i' as u32, 11);
const IPMI_SYSTEM_INTERFACE_ADDR_TYPE: c_int = 0x0c;
const IPMI_BMC_CHANNEL: c_short = 0x0f;
const IPMI_RESPONSE_RECV_TYPE: c_int = 1;
/// `IPMI_MAX_MSG_LENGTH`.
const MESSAGE_BYTES: usize = 272;
/// `struct ipmi_addr` has 40 bytes: no address is longer.
const ADDRESS_WORDS: usize = 5;

/// One command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command<'a> {
    /// The network function: 0Ah is storage.
    pub netfn: u8,
    pub lun: u8,
    pub number: u8,
    pub data: &'a [u8],
}

/// Why a command brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum IpmiError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no answer within {} s", .0.as_secs_f32())]
    NoAnswer(Duration),
    /// What came belongs to another command.
    #[error("the answer belongs to another command")]
    Foreign,
}

/// The open device.
#[derive(Debug)]
pub struct Device {
    file: File,
    last_id: c_long,
}

impl Device {
    /// Opens it; where another process sits on it, that disturbs neither.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        Ok(Self { file, last_id: 0 })
    }

    /// Sends `command`, and waits no longer than `deadline` for its answer: the completion code and what follows it.
    pub fn request(&mut self, command: &Command<'_>, deadline: Duration) -> Result<Vec<u8>, IpmiError> {
        self.last_id += 1;
        let id = self.last_id;
        exchange::answer_to(self, id, command, deadline)
    }
}

impl Channel for Device {
    fn send(&mut self, id: c_long, command: &Command<'_>) -> io::Result<()> {
        let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let mut data = command.data.to_vec();
        let mut address =
            Address { addr_type: IPMI_SYSTEM_INTERFACE_ADDR_TYPE, channel: IPMI_BMC_CHANNEL, lun: command.lun };
        let mut sent = Sent {
            addr: (&raw mut address).cast(),
            addr_len: size_of::<Address>() as c_uint,
            msgid: id,
            msg: Message {
                netfn: command.netfn,
                cmd: command.number,
                data_len: c_ushort::try_from(data.len()).map_err(too_long)?,
                data: data.as_mut_ptr(),
            },
        };
        // SAFETY: the request is as the kernel defines it, and it only reads: the address and the data, each as long as
        // its length says. Both live until the call is over.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), IPMICTL_SEND_COMMAND, &raw mut sent) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn wait(&mut self, until: Instant) -> io::Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut polled = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            match poll(&mut polled, timeout) {
                Ok(0) | Err(nix::errno::Errno::EINTR) if until <= Instant::now() => return Ok(false),
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn receive(&mut self) -> io::Result<Answer> {
        // Words, so that an address is aligned.
        let mut address = [0_u64; ADDRESS_WORDS];
        let mut data = [0_u8; MESSAGE_BYTES];
        let mut received = Received {
            recv_type: 0,
            addr: address.as_mut_ptr().cast(),
            addr_len: size_of_val(&address) as c_uint,
            msgid: 0,
            msg: Message { netfn: 0, cmd: 0, data_len: MESSAGE_BYTES as c_ushort, data: data.as_mut_ptr() },
        };
        // SAFETY: the structure is as the kernel defines it; it writes at most as many bytes to each of the two buffers
        // as their lengths say, and both live until the call is over.
        if unsafe { libc::ioctl(self.file.as_raw_fd(), IPMICTL_RECEIVE_MSG_TRUNC, &raw mut received) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let Message { netfn, cmd, data_len, .. } = received.msg;
        let data = data[..MESSAGE_BYTES.min(usize::from(data_len))].to_vec();
        let is_response = received.recv_type == IPMI_RESPONSE_RECV_TYPE;
        Ok(Answer { id: received.msgid, is_response, netfn, command: cmd, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: Command<'_> = Command { netfn: 0x0a, lun: 0, number: 0x40, data: &[] };

    #[test]
    fn what_is_no_bmc_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut device = Device::open(file.path()).unwrap();
        let refused = device.request(&COMMAND, Duration::from_secs(1)).unwrap_err();
        assert!(matches!(refused, IpmiError::Io(error) if error.raw_os_error() == Some(libc::ENOTTY)));
        assert_eq!(Device::open(&file.path().join("none")).unwrap_err().raw_os_error(), Some(libc::ENOTDIR));
    }

    /// A pipe without a writer's word never gets ready.
    #[test]
    fn a_wait_ends_at_its_deadline() {
        let (read, _write) = io::pipe().unwrap();
        let mut device = Device { file: File::from(std::os::fd::OwnedFd::from(read)), last_id: 0 };
        let (began, deadline) = (Instant::now(), Duration::from_millis(30));
        assert!(!device.wait(began + deadline).unwrap());
        assert!(began.elapsed() >= deadline);
    }

    #[cfg(all(target_pointer_width = "64", target_os = "linux"))]
    #[test]
    fn the_request_numbers_are_the_kernels() {
        assert_eq!((IPMICTL_SEND_COMMAND, IPMICTL_RECEIVE_MSG_TRUNC), (0x8028_690d, 0xc030_690b));
    }
}
