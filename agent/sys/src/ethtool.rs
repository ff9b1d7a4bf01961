//! The firmware behind a network interface, as its driver reports it (linux include/uapi/linux/ethtool.h, man 7 netdevice).
//! Every user may ask.
#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_uint, c_void},
    io,
    os::fd::AsRawFd,
};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GDRVINFO: c_uint = 0x03;
/// `IFNAMSIZ`, with the zero at the end.
const NAME_BYTES: usize = 16;
const TEXT_BYTES: usize = 32;
/// What drivers write that know no version of it.
const UNKNOWN: [&str; 2] = ["", "N/A"];

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    cmd: c_uint,
    driver: [u8; TEXT_BYTES],
    version: [u8; TEXT_BYTES],
    fw_version: [u8; TEXT_BYTES],
    bus_info: [u8; TEXT_BYTES],
    erom_version: [u8; TEXT_BYTES],
    reserved2: [u8; 12],
    numbers: [c_uint; 5],
}

/// `struct ifreq`, as this request uses it: its union has 24 bytes where pointers have 8.
#[repr(C)]
struct Request {
    name: [c_char; NAME_BYTES],
    data: *mut c_void,
    rest: [usize; 2],
}

const _: () = assert!(size_of::<DriverInfo>() == 196);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Request>() == 40);

/// The version of the firmware behind `interface`; an error of the kind `NotFound` where its driver knows none.
pub fn firmware(interface: &str) -> io::Result<String> {
    let socket = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // All zeros but for the command.
    let text = [0; TEXT_BYTES];
    let mut info = DriverInfo {
        cmd: ETHTOOL_GDRVINFO,
        driver: text,
        version: text,
        fw_version: text,
        bus_info: text,
        erom_version: text,
        reserved2: [0; 12],
        numbers: [0; 5],
    };
    let mut request = Request { name: name(interface)?, data: (&raw mut info).cast(), rest: [0; 2] };
    // SAFETY: the request is as the kernel defines it for this command: the name ends with a zero, and the kernel writes no
    // more than a `struct ethtool_drvinfo` to `info`, which lives until the call is over.
    if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let text = text_of(&info.fw_version);
    if UNKNOWN.contains(&text.as_str()) { Err(io::ErrorKind::NotFound.into()) } else { Ok(text) }
}

fn name(interface: &str) -> io::Result<[c_char; NAME_BYTES]> {
    let is_name = (1..NAME_BYTES).contains(&interface.len()) && !interface.contains('\0');
    if !is_name {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut name = [0; NAME_BYTES];
    for (place, byte) in name.iter_mut().zip(interface.bytes()) {
        *place = byte as c_char;
    }
    Ok(name)
}

/// Up to its zero, if it has one.
fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_interface_is_an_error() {
        for (interface, expected) in [
            ("", io::ErrorKind::InvalidInput),
            ("a\0b", io::ErrorKind::InvalidInput),
            ("longer-than-names", io::ErrorKind::InvalidInput),
        ] {
            assert_eq!(firmware(interface).unwrap_err().kind(), expected, "{interface:?}");
        }
        let none = firmware("nodewell-none").unwrap_err();
        assert_eq!(none.raw_os_error(), Some(libc::ENODEV), "{none}");
        // It has a driver that is no hardware's: it knows no firmware, or no such question.
        assert!(firmware("lo").is_err());
    }

    #[test]
    fn a_text_ends_at_its_zero_or_with_its_place() {
        assert_eq!(text_of(b"16.35.4030 (MT_1)\0\0rest"), "16.35.4030 (MT_1)");
        assert_eq!((text_of(b"\0\0").as_str(), text_of(&[b'x'; TEXT_BYTES]).len()), ("", TEXT_BYTES));
        assert_eq!(text_of(b"22.31 \xff\0"), "22.31 \u{fffd}");
    }
}
