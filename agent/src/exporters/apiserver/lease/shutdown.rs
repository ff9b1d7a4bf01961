//! Whether the agent is stopped because the whole system shuts down: then its Lease names the boot that ends, and the controller
//! gives the node time to come back. A package that restarts the agent announces nothing.

use std::{
    io,
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use crate::runtime::Spawner;

/// Of the time that is left for an announcement. All of the system's services stop beside it, and the program that is
/// asked may have to come from a busy disk.
pub(in crate::exporters::apiserver) const DEADLINE: Duration = Duration::from_secs(5);
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The boot that ends, as kubelets name it. Nothing where that cannot be found out: a node is not said to shut down by
/// guess. `checks` starts the program that asks systemd.
pub(super) async fn ending_boot(checks: &Spawner) -> Option<String> {
    let why = match timeout(DEADLINE, ask(checks)).await {
        Ok(Ok(output)) => match stops(&output) {
            Some(true) => return boot_id(Path::new(BOOT_ID)),
            Some(false) => return None,
            None => format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", DEADLINE.as_secs()),
    };
    tracing::info!(why, "whether the system shuts down is not known: the controller gets no announcement");
    None
}

async fn ask(checks: &Spawner) -> io::Result<Output> {
    let prepare = |program: &Path| {
        let mut command = Command::new(program);
        command.arg("system-stops").env_remove("NOTIFY_SOCKET");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    checks.spawn(prepare).await?.wait_with_output().await
}

/// Only these words are an answer.
fn stops(output: &Output) -> Option<bool> {
    match &*output.stdout {
        b"yes\n" if output.status.success() => Some(true),
        b"no\n" if output.status.success() => Some(false),
        _ => None,
    }
}

fn boot_id(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    use super::*;

    #[test]
    fn a_boot_is_named_as_the_kernel_has_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(boot_id(file.path()), None);
        std::fs::write(file.path(), "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n").unwrap();
        assert_eq!(boot_id(file.path()).as_deref(), Some("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"));
    }

    /// systemd stops units in the reverse of their order: the answer of the bus and the way to the API server are
    /// needed.
    #[test]
    fn the_service_stops_before_what_an_announcement_needs_and_waits_for_no_network() {
        let unit = include_str!("../../../../../systemd/nodewell.service");
        let after: Vec<&str> =
            unit.lines().filter_map(|line| line.strip_prefix("After=")).flat_map(str::split_whitespace).collect();
        for needed in ["dbus.service", "dbus.socket", "network.target", "nss-lookup.target"] {
            assert!(after.contains(&needed), "{needed} is not in After={after:?}");
        }
        assert!(!unit.lines().any(|line| !line.starts_with('#') && line.contains("network-online.target")));
        assert!(!unit.contains("DefaultDependencies=no"), "or a shutdown stops it at any time");
    }

    #[tokio::test]
    async fn what_is_no_answer_announces_nothing() {
        for program in ["/bin/true", "/bin/false", "/bin/echo", "/nonexistent/nodewell-checks"] {
            assert_eq!(ending_boot(&Spawner::of(program.into())).await, None, "{program}");
        }
    }

    #[test]
    fn only_a_word_is_an_answer() {
        let output = |code: i32, stdout: &str| Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: stdout.into(),
            stderr: Vec::new(),
        };
        assert_eq!(stops(&output(0, "yes\n")), Some(true));
        assert_eq!(stops(&output(0, "no\n")), Some(false));
        for (code, stdout) in [(0, ""), (1, "yes\n"), (70, "no\n"), (0, "yes"), (0, "yes\nno\n")] {
            assert_eq!(stops(&output(code, stdout)), None, "{code} {stdout}");
        }
    }
}
