//! The device mapper's word on one of its maps, by `/dev/mapper/control`.

use std::{fs::File, io::ErrorKind, os::fd::AsFd};

pub(super) use nodewell_sys::dm::Line;
use nodewell_sys::dm::{Target, first_target};

use super::part::read_error;
use crate::probe::{ReadError, Roots};

/// The kernel's check (drivers/md/dm-ioctl.c).
const RIGHT: &str = "CAP_SYS_ADMIN and a readable /dev/mapper/control";

/// The first target of the map `name`, whose device number is `number` (`253:3`).
pub(super) fn target(roots: &Roots, name: &str, number: &str, line: Line) -> Result<Target, ReadError> {
    let control = match File::open(roots.dev.join("mapper/control")) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(ReadError::Unsupported { message: "there is no /dev/mapper/control".to_owned() });
        }
        other => other.map_err(|error| read_error("/dev/mapper/control", RIGHT, &error))?,
    };
    let (major, minor) = number
        .split_once(':')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or_else(|| ReadError::Failed { message: format!("{name}: its device number is none") })?;
    first_target(control.as_fd(), major, minor, line).map_err(|error| read_error(name, RIGHT, &error))
}
