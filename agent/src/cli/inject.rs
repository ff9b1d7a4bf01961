//! `nodewell inject`: a marked record into the real kernel log, and the way it takes from there.

mod way;

use std::{
    fs::{self, Metadata, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileTypeExt, MetadataExt},
};

use clap::Args;
use nix::sys::stat::makedev;
use nodewell_client::Client;
use nodewell_model::{
    Name,
    api::{InjectAnswer, InjectRequest},
    view::{DaemonState, DaemonView, NodeView},
};

use super::{
    error::{CONFIG, CommandError, NO_PERMISSION, SOFTWARE, TEMPORARY},
    out::Out,
    output::Output,
};
use way::{Known, Printer, Way};

/// `/dev/kmsg` (`Documentation/admin-guide/devices.txt`: 1 char, 11).
const KMSG: u64 = makedev(1, 11);
/// Reads the kernel log.
const MONITOR: &str = "kernel-monitor";

/// Try the whole way with a marked test problem: kernel log, rule, condition, API server (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell inject KernelOops
  sudo nodewell inject OOMKilling --condition MemoryUnhealthy
  sudo nodewell inject KernelOops --no-wait

The record carries a nonce that the agent gave out for it, so no other client
can forge one. The problem is marked as a test everywhere and ends by itself.
`nodewell explain --list` names the reasons.
As JSON each step is one object a line: {step, text}.")]
pub(super) struct Inject {
    /// The reason of a kernel log rule, such as KernelOops.
    reason: Name,
    /// Only the rule of this condition, where several share the reason.
    #[arg(long, value_name = "TYPE")]
    condition: Option<Name>,
    /// Write the record and leave.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    output: Output,
}

impl Inject {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let view: NodeView = client.get("/v1/status").await?;
        refuse_if_blind(&view)?;
        refuse_if_muted(&view, &self.reason)?;
        let request = InjectRequest { reason: self.reason, condition: self.condition };
        let answer: InjectAnswer = client.post("/v1/inject", &request).await?;
        refuse_if_no_log(&answer.kmsg)?;
        let before = Known::now(client, &answer.reason).await?;
        write_record(&answer)?;
        let mut way = Way::new(client, Printer { out, form: self.output.document() }, &answer);
        let text = answer.line.split_once('>').map_or(answer.line.as_str(), |(_priority, text)| text);
        way.step(&format!("written to {}: {text}", answer.kmsg))?;
        if self.no_wait {
            return Ok(());
        }
        way.matched(&before).await?;
        way.condition().await?;
        way.apiserver().await?;
        way.ending()
    }
}

/// A record that is not read would only be waited for in vain.
fn refuse_if_blind(view: &NodeView) -> Result<(), CommandError> {
    let is_blind = |daemon: &&DaemonView| daemon.name == MONITOR && daemon.state == DaemonState::Blind;
    let Some(monitor) = view.daemons.iter().find(is_blind) else { return Ok(()) };
    let message = format!(
        "the agent cannot read the kernel log, and nothing was written to it: {}: {}",
        monitor.reason, monitor.message
    );
    Err(CommandError::new(TEMPORARY, message))
}

/// A test problem is muted like any other, and would turn no condition.
fn refuse_if_muted(view: &NodeView, reason: &Name) -> Result<(), CommandError> {
    let Some(mute) = view.mutes.iter().find(|mute| mute.key.reason == *reason && mute.key.subject.is_none()) else {
        return Ok(());
    };
    let (key, until) = (mute.key.whole(), mute.until);
    Err(CommandError::new(
        TEMPORARY,
        format!("{key} is muted until {until}: a test would turn no condition; unmute it first"),
    ))
}

/// The kernel alone makes a record of what is written, with its sequence number and time. What is not there, or cannot
/// be looked at, the write names.
fn refuse_if_no_log(kmsg: &str) -> Result<(), CommandError> {
    let is_another = |found: Metadata| !found.file_type().is_char_device() || found.rdev() != KMSG;
    if fs::metadata(kmsg).is_ok_and(is_another) {
        let error = format!("{kmsg}, which [kmsg] names, is not the kernel's log device; nothing was written to it");
        return Err(CommandError::new(CONFIG, error));
    }
    Ok(())
}

/// One write is one record (`Documentation/ABI/testing/dev-kmsg`).
fn write_record(answer: &InjectAnswer) -> Result<(), CommandError> {
    let record = format!("{}\n", answer.line);
    let written =
        OpenOptions::new().append(true).open(&answer.kmsg).and_then(|mut log| log.write_all(record.as_bytes()));
    written.map_err(|error| not_written(&answer.kmsg, &error))
}

fn not_written(kmsg: &str, error: &io::Error) -> CommandError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => CommandError::new(
            NO_PERMISSION,
            format!("cannot write to {kmsg}: {error}; it takes root, and a kernel without printk.devkmsg=off"),
        ),
        _ => CommandError::new(SOFTWARE, format!("cannot write to {kmsg}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_written_to_a_log_that_is_not_read() {
        let with = |name: &str, state: &str| {
            let daemon = json!({"name": name, "state": state, "reason": "KmsgMissing", "message": "no /dev/kmsg"});
            let view = json!({"node": "n1", "daemons": [daemon], "conditions": [],
                "apiserver": {"state": "disabled", "last_success": null}});
            refuse_if_blind(&serde_json::from_value(view).unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(
            with("kernel-monitor", "blind").unwrap_err(),
            "the agent cannot read the kernel log, and nothing was written to it: KmsgMissing: no /dev/kmsg"
        );
        assert_eq!(with("kernel-monitor", "running"), Ok(()));
        assert_eq!(with("journal-monitor", "blind"), Ok(()));
    }

    #[test]
    fn nothing_is_written_to_a_file_in_place_of_the_log() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = |path: &Path| refuse_if_no_log(&path.display().to_string()).map_err(|error| error.to_string());
        for other in [file.path(), Path::new("/dev/null"), Path::new("/tmp")] {
            assert!(refused(other).unwrap_err().ends_with("is not the kernel's log device; nothing was written to it"));
        }
        assert_eq!(refused(Path::new("/nonexistent")), Ok(()), "the write says why");
    }

    #[test]
    fn the_record_is_written_in_one_piece() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let answer = InjectAnswer {
            line: "<13>nodewell-inject 01: x".to_owned(),
            kmsg: file.path().display().to_string(),
            reason: Name::fixed("KernelOops"),
            condition: None,
            severity: nodewell_model::Severity::Error,
            expires_secs: 10,
            clears_secs: 60,
        };
        write_record(&answer).unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "<13>nodewell-inject 01: x\n");
    }
}
