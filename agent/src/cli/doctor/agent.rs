//! What the running agent reports of itself, and whether Prometheus finds it.

use std::{io, net::SocketAddr, time::Duration};

use nodewell_client::{Client, ClientError};
use nodewell_model::{
    BootId, ConditionStatus,
    api::VersionView,
    view::{ApiserverState, ApiserverView, ConditionView, DaemonState, DaemonView, NodeView},
};
use nodewell_tls::{ServerError, ServerFiles};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{check::Check, check_processes};
use crate::{config::Config, monitors::agent_state, runtime::clock};

const METRICS_TIMEOUT: Duration = Duration::from_secs(3);
/// Far more than the page has.
const METRICS_LIMIT_BYTES: u64 = 4 << 20;

pub(super) async fn examine(client: &Client, config: &Config) -> Vec<Check> {
    let version = match client.get::<VersionView>("/v1/version").await {
        Ok(version) => version,
        Err(error) => return vec![absent(&error)],
    };
    let mut checks =
        vec![Check::ok("agent", format!("nodewelld {} answers on {}", version.version, client.path().display()))];
    checks.extend(boot_of(&version, clock::boot_id()));
    match client.get::<NodeView>("/v1/status").await {
        Ok(view) => {
            checks.extend(view.daemons.iter().map(daemon));
            checks.extend(check_processes::missing(&view.daemons, config));
            checks.push(delivery(&view.apiserver));
            checks.extend(view.conditions.iter().filter_map(|condition| unsaved(condition)));
        }
        Err(error) => checks.push(Check::fail("agent's account", error.to_string(), "see: journalctl -u nodewell")),
    }
    if let Some(address) = config.metrics_address.0 {
        checks.push(match config.exporters.metrics_tls.files() {
            None => metrics_page(address).await,
            Some(files) => metrics_over_tls(address, &files).await,
        });
    }
    checks
}

/// In a container a service may see the host's boot id where a shell, and journald, have one of the container's.
fn boot_of(version: &VersionView, ours: Option<BootId>) -> Option<Check> {
    let (theirs, ours) = (version.boot_id?, ours?);
    (theirs != ours).then(|| {
        let detail =
            format!("it sees the boot {theirs}, not {ours}: what a boot clears ends at once in the journal's rules");
        Check::warn("agent's boot id", detail, "the agent belongs on the host, not into a container")
    })
}

fn absent(error: &ClientError) -> Check {
    let advice = match error {
        ClientError::Permission { .. } => {
            "the socket should have mode 0666 and its folder 0755; see: ls -ld /run/nodewell"
        }
        _ => "start it: systemctl start nodewell, or by hand: nodewelld --standalone",
    };
    Check::fail("agent", error.to_string(), advice)
}

/// Of daemons that report over the socket.
const GONE: &str = "one that comes no more: nodewell forget, with its name";

fn daemon(daemon: &DaemonView) -> Check {
    let is_external = daemon.name.contains('@');
    let why = [daemon.reason.as_str(), daemon.message.as_str()].into_iter().filter(|part| !part.is_empty());
    let why = why.collect::<Vec<_>>().join(": ");
    match daemon.state {
        DaemonState::Running if daemon.lost > 0 => {
            Check::ok(&daemon.name, format!("read {}, lost {}", counted(daemon.records, "record"), daemon.lost))
        }
        DaemonState::Running => Check::ok(&daemon.name, format!("read {}", counted(daemon.records, "record"))),
        DaemonState::Starting if is_external => {
            Check::warn(&daemon.name, "has not reported yet", format!("ask again in a moment; {GONE}"))
        }
        DaemonState::Starting => Check::warn(&daemon.name, "has not reported yet", "ask again in a moment"),
        DaemonState::Blind => {
            Check::warn(&daemon.name, format!("cannot see: {why}"), "its conditions are Unknown until it can")
        }
        DaemonState::Stale if is_external => {
            let advice = format!("look at that daemon's own log; {GONE}");
            Check::warn(&daemon.name, format!("has gone silent: {why}"), advice)
        }
        DaemonState::Stale => {
            Check::warn(&daemon.name, format!("has gone silent: {why}"), "look at that daemon's own log")
        }
        DaemonState::Dead => Check::fail(&daemon.name, format!("ended: {why}"), "see: journalctl -u nodewell"),
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What it knows may be lost with it.
fn unsaved(condition: &ConditionView) -> Option<Check> {
    let is_of_state = condition.condition.as_str() == agent_state::CONDITION;
    (is_of_state && condition.status == ConditionStatus::True).then(|| {
        let detail = format!("{}: {}", condition.reason, condition.message);
        Check::warn("agent's state", detail, format!("see: nodewell explain {}", condition.reason))
    })
}

fn delivery(view: &ApiserverView) -> Check {
    let name = "agent's API server";
    match view.state {
        ApiserverState::Disabled => Check::ok(name, "none: the agent runs standalone"),
        ApiserverState::Connected => {
            Check::ok(name, format!("connected, undelivered: {}", counted(view.undelivered, "event")))
        }
        ApiserverState::Connecting => Check::warn(name, "not connected yet", "ask again in a moment"),
        ApiserverState::Failing => {
            Check::fail(name, view.message.clone(), "try its kubeconfig here: nodewell doctor --kubeconfig FILE")
        }
    }
}

async fn metrics_page(address: SocketAddr) -> Check {
    let name = "metrics";
    match timeout(METRICS_TIMEOUT, page(address)).await {
        Ok(Ok(page)) if page.contains("nodewell_") => Check::ok(name, format!("http://{address}/metrics answers")),
        Ok(Ok(_)) => Check::warn(
            name,
            format!("another program answers on {address}"),
            "Node Problem Detector uses the same port: stop it, or give the agent another in its config: metrics-address",
        ),
        Ok(Err(error)) => Check::warn(
            name,
            format!("nothing answers on {address}: {error}"),
            "if the agent was started with another --config or --metrics-address, that is what to ask; \"off\" is no error",
        ),
        Err(_) => Check::warn(name, format!("{address} accepts and does not answer"), "what listens there? ss -ltnp"),
    }
}

/// Who asks has no certificate to show: what is proven is that the files can be used, and that the port is open.
async fn metrics_over_tls(address: SocketAddr, files: &ServerFiles) -> Check {
    let name = "metrics";
    match files.acceptor() {
        Ok(_) => {}
        Err(ServerError::File(file, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Check::warn(name, format!("{}: {error}", file.display()), "ask as root: sudo nodewell doctor");
        }
        Err(error) => {
            return Check::fail(
                name,
                error.to_string(),
                "mend what [metrics-tls] names; it is read for each connection",
            );
        }
    }
    let clients = files.client_authority.as_ref();
    let clients =
        clients.map_or_else(String::new, |file| format!(" for clients with a certificate by {}", file.display()));
    match timeout(METRICS_TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Check::ok(name, format!("https://{address}/metrics is served{clients}")),
        Ok(Err(error)) => {
            Check::warn(name, format!("nothing answers on {address}: {error}"), "see: journalctl -u nodewell")
        }
        Err(_) => Check::warn(name, format!("{address} does not answer"), "is a firewall between?"),
    }
}

async fn page(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut page = Vec::new();
    // A program that hangs up in its own way has answered all the same.
    match stream.take(METRICS_LIMIT_BYTES).read_to_end(&mut page).await {
        Err(error) if page.is_empty() => return Err(error),
        _ => {}
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
mod tests {
    use nodewell_model::Name;

    use super::*;
    use crate::{
        cli::doctor::check::CheckVerdict,
        config::{Flags, MetricsAddress},
    };

    #[tokio::test]
    async fn a_missing_agent_is_a_failure_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let client = Client::new(folder.path().join("s"));
        let flags = Flags::default();
        let metrics_address = MetricsAddress(Some(SocketAddr::from(([127, 0, 0, 1], 1))));
        let checks = examine(&client, &Config { metrics_address, ..Config::of_flags(&flags) }).await;
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].verdict, CheckVerdict::Fail);
        assert!(checks[0].advice.contains("nodewelld --standalone"));
    }

    #[test]
    fn an_agent_of_another_boot_than_the_shell_is_a_warning() {
        let boot = |digit: &str| BootId::parse(&digit.repeat(32));
        let agent = |boot_id| VersionView { version: String::new(), api: String::new(), features: Vec::new(), boot_id };
        let check = boot_of(&agent(boot("1")), boot("2")).unwrap();
        assert_eq!(check.verdict, CheckVerdict::Warn);
        assert!(check.detail.starts_with("it sees the boot 11111111"), "{}", check.detail);
        for (theirs, ours) in [("1", Some("1")), ("", Some("1")), ("1", None)] {
            assert!(boot_of(&agent(boot(theirs)), ours.and_then(boot)).is_none(), "{theirs:?} {ours:?}");
        }
    }

    #[test]
    fn a_state_that_cannot_be_saved_is_a_warning() {
        let view = |condition: &str, status| ConditionView {
            condition: Name::new(condition).unwrap(),
            status,
            reason: Name::fixed("StateDiskFull"),
            message: "the disk is full".to_owned(),
            transition: jiff::Timestamp::UNIX_EPOCH,
            problems: Vec::new(),
        };
        let check = unsaved(&view("AgentStateUnwritable", ConditionStatus::True)).unwrap();
        assert_eq!((check.verdict, check.detail.as_str()), (CheckVerdict::Warn, "StateDiskFull: the disk is full"));
        assert!(unsaved(&view("AgentStateUnwritable", ConditionStatus::False)).is_none());
        assert!(unsaved(&view("DiskUnhealthy", ConditionStatus::True)).is_none());
    }

    #[test]
    fn a_blind_monitor_is_a_warning_and_a_dead_one_a_failure() {
        let view = |state| DaemonView {
            name: "journal-monitor".to_owned(),
            state,
            reason: "LibraryMissing".to_owned(),
            message: "no libsystemd".to_owned(),
            records: 0,
            lost: 0,
            ttl_secs: None,
            silent_since: None,
            full: false,
        };
        assert_eq!(daemon(&view(DaemonState::Blind)).verdict, CheckVerdict::Warn);
        assert_eq!(daemon(&view(DaemonState::Blind)).detail, "cannot see: LibraryMissing: no libsystemd");
        assert_eq!(daemon(&view(DaemonState::Dead)).verdict, CheckVerdict::Fail);
        let read = |records| daemon(&DaemonView { records, ..view(DaemonState::Running) }).detail;
        assert_eq!((read(1), read(2)), ("read 1 record".to_owned(), "read 2 records".to_owned()));
    }

    #[tokio::test]
    async fn another_program_on_the_metrics_port_is_noticed() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.readable().await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nproblem_counter 0\n").await.unwrap();
        });
        let check = metrics_page(address).await;
        assert!(check.detail.starts_with("another program"), "{check:?}");
    }

    #[tokio::test]
    async fn a_file_of_tls_that_cannot_be_used_is_a_failure_that_names_it() {
        let files = ServerFiles {
            certificate: "/nonexistent/metrics.crt".into(),
            key: "/nonexistent/metrics.key".into(),
            client_authority: None,
        };
        let check = metrics_over_tls(SocketAddr::from(([127, 0, 0, 1], 1)), &files).await;
        assert_eq!(check.verdict, CheckVerdict::Fail);
        assert!(check.detail.starts_with("/nonexistent/metrics.crt: No such file"), "{check:?}");
    }
}
