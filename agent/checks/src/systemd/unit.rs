//! How a unit is, as systemd reports it.

use std::time::Duration;

use zbus::{OwnedObjectPath, OwnedVariant};

use super::{
    bus::{Bus, Method},
    error::BusError,
};

const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Whether systemd knows it (`unit_load_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadState {
    Loaded,
    NotFound,
    Masked,
    /// Its file cannot be read or is wrong: `bad-setting`, `error`.
    Broken,
}

/// What it does (`unit_active_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActiveState {
    Active,
    Reloading,
    Inactive,
    Failed,
    Activating,
    Deactivating,
    /// `maintenance`, `refreshing`, and whatever else will be.
    Other,
}

/// One line of `systemctl list-units`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedUnit {
    pub name: String,
    pub load: LoadState,
    pub active: ActiveState,
    pub sub: String,
    /// A job that waits or runs: `restart`, `start`, `stop`.
    pub job: Option<String>,
}

/// One unit. Times are of `CLOCK_MONOTONIC`; zero: never in this boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub name: String,
    pub load: LoadState,
    pub active: ActiveState,
    /// `running`, `auto-restart`, `start-pre`.
    pub sub: String,
    /// A job for it waits or runs: a start, a stop or a restart was requested.
    pub has_job: bool,
    pub active_since: Duration,
    pub state_since: Duration,
    /// Of a service: how its last run ended: `success`, `exit-code`, `signal`, `watchdog`, `start-limit-hit`, `oom-kill`.
    pub result: Option<String>,
    /// Of a service, since its last start by request (systemd 235 and later): how often systemd restarted it.
    pub restarts: Option<u32>,
    /// Of a service; `None`: it has none now.
    pub main_pid: Option<u32>,
    /// Of a service with `WatchdogSec=`.
    pub watchdog: Option<Watchdog>,
}

/// A service's signs of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    /// The last one.
    pub last: Duration,
    /// The next has to come within this.
    pub within: Duration,
}

/// As `ListUnitsByNames` has it: name, description, load, active and sub state, followed unit, path, job, its type and
/// path.
pub(super) type Listing =
    (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

impl LoadState {
    fn named(name: &str) -> Self {
        match name {
            "loaded" | "merged" => Self::Loaded,
            "not-found" => Self::NotFound,
            "masked" => Self::Masked,
            _ => Self::Broken,
        }
    }
}

impl ActiveState {
    fn named(name: &str) -> Self {
        match name {
            "active" => Self::Active,
            "reloading" => Self::Reloading,
            "inactive" => Self::Inactive,
            "failed" => Self::Failed,
            "activating" => Self::Activating,
            "deactivating" => Self::Deactivating,
            _ => Self::Other,
        }
    }
}

impl From<Listing> for ListedUnit {
    fn from(listing: Listing) -> Self {
        let (name, _, load, active, sub, _, _, job, job_type, _) = listing;
        let (load, active) = (LoadState::named(&load), ActiveState::named(&active));
        Self { name, load, active, sub, job: (job != 0).then_some(job_type) }
    }
}

/// The properties of one interface of one unit. Asked one by one, all at once: `GetAll` lets systemd read cgroups and
/// count packets for a hundred that no caller needs.
pub(super) struct Properties<'a> {
    bus: &'a Bus,
    path: &'a str,
    interface: &'static str,
}

impl<'a> Properties<'a> {
    pub(super) fn new(bus: &'a Bus, path: &'a str, interface: &'static str) -> Self {
        Self { bus, path, interface }
    }

    pub(super) async fn unit(&self, name: &str) -> Result<Unit, BusError> {
        let (load, active, sub, job, active_since, state_since) = tokio::try_join!(
            self.get::<String>("LoadState"),
            self.get::<String>("ActiveState"),
            self.get::<String>("SubState"),
            self.get::<(u32, OwnedObjectPath)>("Job"),
            self.get::<u64>("ActiveEnterTimestampMonotonic"),
            self.get::<u64>("StateChangeTimestampMonotonic"),
        )?;
        Ok(Unit {
            name: name.to_owned(),
            load: LoadState::named(&load),
            active: ActiveState::named(&active),
            sub,
            has_job: job.0 != 0,
            active_since: Duration::from_micros(active_since),
            state_since: Duration::from_micros(state_since),
            result: None,
            restarts: None,
            main_pid: None,
            watchdog: None,
        })
    }

    pub(super) async fn service(&self, unit: &mut Unit) -> Result<(), BusError> {
        let (result, restarts, main_pid, within, last) = tokio::try_join!(
            self.get::<String>("Result"),
            self.known::<u32>("NRestarts"),
            self.get::<u32>("MainPID"),
            self.get::<u64>("WatchdogUSec"),
            self.get::<u64>("WatchdogTimestampMonotonic"),
        )?;
        unit.result = Some(result);
        unit.restarts = restarts;
        unit.main_pid = Some(main_pid).filter(|pid| *pid != 0);
        unit.watchdog = watchdog(last, within);
        Ok(())
    }

    /// A property that older versions do not have.
    async fn known<T>(&self, property: &'static str) -> Result<Option<T>, BusError>
    where
        T: TryFrom<OwnedVariant>,
    {
        match self.get(property).await {
            Err(BusError::Refused { name, .. }) if name == "org.freedesktop.DBus.Error.UnknownProperty" => Ok(None),
            got => got.map(Some),
        }
    }

    async fn get<T>(&self, property: &'static str) -> Result<T, BusError>
    where
        T: TryFrom<OwnedVariant>,
    {
        let reply = self
            .bus
            .call(Method { object: self.path, interface: PROPERTIES, name: "Get" }, &(self.interface, property))
            .await?;
        let value: OwnedVariant = reply.body().deserialize().map_err(|error| BusError::unexpected(property, &error))?;
        T::try_from(value).map_err(|_| BusError::unexpected(property, &zbus::Error::IncorrectType))
    }
}

/// `WatchdogUSec` is 0 or infinite without one.
fn watchdog(last: u64, within: u64) -> Option<Watchdog> {
    let is_set = within != 0 && within != u64::MAX;
    is_set.then(|| Watchdog { last: Duration::from_micros(last), within: Duration::from_micros(within) })
}
