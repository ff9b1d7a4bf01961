//! `nodewell release` and `nodewell reclaim`: a check process lets go of its devices, for a reset or another driver.

mod workers;

use std::{path::Path, time::Duration};

use clap::{Args, ValueEnum};
use nodewell_client::Client;
use nodewell_settings::duration;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    error::{CommandError, NO_PERMISSION, TEMPORARY, USAGE},
    out::Out,
    output::Output,
};
use crate::check_process::{Group, ReleaseError, ReleaseFile};

/// A release that the operator forgets to end does not blind the agent for longer.
const LONGEST: Duration = Duration::from_hours(24);
const LOOKS_APART: Duration = Duration::from_millis(100);

/// What can be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Devices {
    /// GPUs: their library is closed, so that they can be reset and their driver replaced
    Gpu,
    /// Disks
    Disk,
}

impl Devices {
    fn group(self) -> Group {
        match self {
            Self::Gpu => Group::Gpu,
            Self::Disk => Group::Disk,
        }
    }
}

/// Close the GPUs (or disks) for a while, for a reset or another driver (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell release gpu
  sudo nodewell release gpu --for 1h && nvidia-smi --gpu-reset; nodewell reclaim gpu

It returns once nothing of nodewell holds a device any more, a `nodewell scan`
included: exit code 75 if a worker hangs in the kernel, which only a reboot may
help, or is another agent's, which is named with its socket. Until the end of the
release what was known of the devices is Unknown: DevicesReleased. It ends by
itself, and with a reboot; a restart of the agent does not end it.
As JSON and YAML: {devices, until}.")]
pub(super) struct Release {
    /// What to let go of.
    #[arg(value_name = "DEVICES")]
    devices: Devices,
    /// For how long, at most 24h.
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = duration::parse)]
    length: Duration,
    /// How long to wait for a worker that reads a device; an idle one lets go within 5s.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    wait: Duration,
    /// Wait for no worker of another agent: for tests, which run beside those of others
    #[arg(long, hide = true)]
    only_this_agent: bool,
    #[command(flatten)]
    output: Output,
}

/// Read devices again before the end of their release (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell reclaim gpu

As JSON and YAML: {devices, was_released}.")]
pub(super) struct Reclaim {
    /// What to read again.
    #[arg(value_name = "DEVICES")]
    devices: Devices,
    #[command(flatten)]
    output: Output,
}

impl Release {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        if self.length > LONGEST {
            return Err(CommandError::new(USAGE, "a release is at most 24h long"));
        }
        let group = self.devices.group();
        let release = ReleaseFile::of(client.path(), group).write(self.length).map_err(denied)?;
        self.wait_for_workers(client.path()).await?;
        match self.output.document() {
            Some(form) => out.document(form, &json!({"devices": group.as_str(), "until": release.until})),
            None => Ok(out.line(&format!("{}: {release}; nothing of nodewell holds its devices", group.as_str()))?),
        }
    }

    async fn wait_for_workers(&self, socket: &Path) -> Result<(), CommandError> {
        let give_up = Instant::now() + self.wait;
        let group = self.devices.group();
        loop {
            let mut left = workers::of(group);
            left.retain(|worker| !self.only_this_agent || worker.obeys(socket));
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() >= give_up {
                let message = format!(
                    "the devices of the check process `{}` are released, but workers are still there: {}; one that \
                     hangs in the kernel holds its device until the kernel lets it go",
                    group.as_str(),
                    left.iter().map(|worker| worker.shown(socket)).collect::<Vec<_>>().join(", ")
                );
                return Err(CommandError::new(TEMPORARY, message));
            }
            sleep(LOOKS_APART).await;
        }
    }
}

impl Reclaim {
    pub(super) fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let group = self.devices.group();
        let was_released = ReleaseFile::of(client.path(), group).remove().map_err(denied)?;
        if let Some(form) = self.output.document() {
            return out.document(form, &json!({"devices": group.as_str(), "was_released": was_released}));
        }
        let outcome = if was_released { "reads its devices again" } else { "had not released its devices" };
        Ok(out.line(&format!("the check process `{}` {outcome}", group.as_str()))?)
    }
}

fn denied(error: ReleaseError) -> CommandError {
    CommandError::new(NO_PERMISSION, error.to_string())
}
