//! systemd's manager over the system bus: how units are, and the few things that a repair asks of it. Every call has a
//! deadline; a bus that is not there, hangs or restarts is an answer like any other, and the next call tries again.

mod bus;
mod error;
mod path;
mod unit;

use std::time::Duration;

use zbus::OwnedObjectPath;

pub use error::BusError;
pub use unit::{ActiveState, ListedUnit, LoadState, Unit, Watchdog};

use bus::{Bus, Method};
use path::unit_path;
use unit::{Listing, Properties};

/// The manager's name on the bus and its interfaces (org.freedesktop.systemd1(5)).
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const UNIT: &str = "org.freedesktop.systemd1.Unit";
const SERVICE: &str = "org.freedesktop.systemd1.Service";

/// Where the system bus listens (D-Bus Specification, "System message bus").
pub const SYSTEM_BUS: &str = "unix:path=/run/dbus/system_bus_socket";
/// systemd answers within milliseconds unless it reloads, which takes it seconds on a node with thousands of units.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Which processes of a unit a signal is for (`KillUnit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillWhom {
    Main,
    Control,
    All,
}

impl KillWhom {
    /// The string on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Control => "control",
            Self::All => "all",
        }
    }
}

/// A client of systemd's manager. One connection, made when it is needed and again after every error; calls may
/// overlap.
#[derive(Debug)]
pub struct Manager {
    bus: Bus,
}

impl Manager {
    /// The manager of this machine. Nothing is connected yet.
    #[must_use]
    pub fn system() -> Self {
        Self::at(SYSTEM_BUS, DEADLINE)
    }

    /// The manager on the bus at `address` (`unix:path=…`), with `deadline` for each call, a connect included.
    #[must_use]
    pub fn at(address: &str, deadline: Duration) -> Self {
        Self { bus: Bus::new(address, deadline) }
    }

    /// How `name` is (`kubelet.service`). A unit that systemd has no file for is one with [`LoadState::NotFound`].
    ///
    /// # Errors
    /// When systemd cannot be asked, does not answer in time, or `name` is no name of a unit.
    pub async fn unit(&self, name: &str) -> Result<Unit, BusError> {
        let path = unit_path(name);
        let mut unit = Properties::new(&self.bus, &path, UNIT).unit(name).await?;
        if name.ends_with(".service") && unit.load == LoadState::Loaded {
            Properties::new(&self.bus, &path, SERVICE).service(&mut unit).await?;
        }
        Ok(unit)
    }

    /// The units of these names, in one call, in any order (`ListUnitsByNames`, systemd 230 and later). A unit without a
    /// file is listed too, as [`LoadState::NotFound`].
    ///
    /// # Errors
    /// When systemd cannot be asked or does not answer in time.
    pub async fn units(&self, names: &[&str]) -> Result<Vec<ListedUnit>, BusError> {
        let listed: Vec<Listing> = self.call("ListUnitsByNames", &(names,)).await?;
        Ok(listed.into_iter().map(ListedUnit::from).collect())
    }

    /// The loaded units whose names match one of `patterns` (`kube*.service`), whatever their state
    /// (`ListUnitsByPatterns`).
    ///
    /// # Errors
    /// When systemd cannot be asked or does not answer in time.
    pub async fn matching(&self, patterns: &[&str]) -> Result<Vec<ListedUnit>, BusError> {
        let any_state: &[&str] = &[];
        let listed: Vec<Listing> = self.call("ListUnitsByPatterns", &(any_state, patterns)).await?;
        Ok(listed.into_iter().map(ListedUnit::from).collect())
    }

    /// Asks for a restart of `name`, in place of a job that waits, and returns the job's path. It does not wait for the
    /// restart: see [`Unit::job`] and the states after it.
    ///
    /// # Errors
    /// [`BusError::Denied`] without the right, [`BusError::NoSuchUnit`], or when systemd cannot be asked.
    pub async fn restart(&self, name: &str) -> Result<String, BusError> {
        let job: OwnedObjectPath = self.call("RestartUnit", &(name, "replace")).await?;
        Ok(job.as_str().to_owned())
    }

    /// Sends `signal` to processes of `name`.
    ///
    /// # Errors
    /// [`BusError::Denied`] without the right, [`BusError::NoSuchUnit`] also where it has no such process, or when
    /// systemd cannot be asked.
    pub async fn kill(&self, name: &str, who: KillWhom, signal: i32) -> Result<(), BusError> {
        self.call("KillUnit", &(name, who.as_str(), signal)).await
    }

    async fn call<B, R>(&self, method: &'static str, body: &B) -> Result<R, BusError>
    where
        B: serde::Serialize + zbus::DynamicType,
        R: for<'d> zbus::wire::DynamicDeserialize<'d>,
    {
        let reply = self.bus.call(Method { object: MANAGER_PATH, interface: MANAGER, name: method }, body).await?;
        reply.body().deserialize().map_err(|error| BusError::unexpected(method, &error))
    }
}

#[cfg(test)]
mod tests;
