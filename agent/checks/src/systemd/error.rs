//! Why systemd gave no answer.

use std::{io, time::Duration};

use thiserror::Error;

/// The step that failed. None of them is for ever: the next call tries again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BusError {
    /// No bus at all: another init system, a container, a minimal image.
    #[error("there is no system bus at {address}")]
    Absent { address: String },
    /// It is there, and does not take us.
    #[error("cannot connect to the system bus at {address}: {message}")]
    Unreachable { address: String, message: String },
    #[error("systemd did not answer {method} within {} ms", after.as_millis())]
    NoAnswer { method: &'static str, after: Duration },
    /// The bus or systemd ended the connection in the middle.
    #[error("the system bus broke off during {method}: {message}")]
    Broken { method: &'static str, message: String },
    /// The bus is there, but systemd is not on it.
    #[error("systemd is not on the system bus: {message}")]
    NoManager { message: String },
    #[error("systemd does not let us call {method}: {message}")]
    Denied { method: &'static str, message: String },
    #[error("{method}: {message}")]
    NoSuchUnit { method: &'static str, message: String },
    #[error("systemd refused {method}: {name}: {message}")]
    Refused { method: &'static str, name: String, message: String },
    #[error("systemd answered {method} with something else: {message}")]
    Unexpected { method: &'static str, message: String },
}

impl BusError {
    /// Whether this machine simply has no systemd to ask.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. } | Self::NoManager { .. })
    }

    pub(super) fn of_connect(address: &str, error: &zbus::Error) -> Self {
        let address = address.to_owned();
        match kind(error) {
            Some(io::ErrorKind::NotFound) => Self::Absent { address },
            _ => Self::Unreachable { address, message: error.to_string() },
        }
    }

    pub(super) fn of_call(method: &'static str, error: zbus::Error) -> Self {
        match error {
            zbus::Error::MethodError(name, message, _) => {
                Self::of_reply(method, name.as_str(), message.unwrap_or_default())
            }
            zbus::Error::FDO(error) => {
                let name = zbus::DBusError::name(error.as_ref()).as_str().to_owned();
                let message = zbus::DBusError::description(error.as_ref()).unwrap_or_default().to_owned();
                Self::of_reply(method, &name, message)
            }
            error => Self::Broken { method, message: error.to_string() },
        }
    }

    /// Names of D-Bus itself and of systemd (`bus-common-errors.h`).
    fn of_reply(method: &'static str, name: &str, message: String) -> Self {
        match name {
            "org.freedesktop.DBus.Error.ServiceUnknown" | "org.freedesktop.DBus.Error.NameHasNoOwner" => {
                Self::NoManager { message }
            }
            "org.freedesktop.DBus.Error.AccessDenied"
            | "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired" => Self::Denied { method, message },
            "org.freedesktop.systemd1.NoSuchUnit" | "org.freedesktop.systemd1.NoSuchProcess" => {
                Self::NoSuchUnit { method, message }
            }
            "org.freedesktop.DBus.Error.Disconnected" => Self::Broken { method, message },
            _ => Self::Refused { method, name: name.to_owned(), message },
        }
    }

    pub(super) fn unexpected(method: &'static str, error: &zbus::Error) -> Self {
        Self::Unexpected { method, message: error.to_string() }
    }

    /// Whether the connection is of no use any more.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self, Self::NoAnswer { .. } | Self::Broken { .. })
    }
}

fn kind(error: &zbus::Error) -> Option<io::ErrorKind> {
    match error {
        zbus::Error::InputOutput(error) | zbus::Error::Connection(error, _) => Some(error.kind()),
        _ => None,
    }
}
