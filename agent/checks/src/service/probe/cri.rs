//! A container runtime, asked by the Container Runtime Interface v1 (`k8s.io/cri-api` `runtime.v1.RuntimeService`):
//! `Version`, then `Status`.

mod grpc;
mod message;

use std::path::Path;

use nodewell_model::text;

use super::{Down, Up, stream};
use crate::service::target::At;
use grpc::Client;
use message::{Fields, Malformed, Value};

const SERVICE: &str = "/runtime.v1.RuntimeService/";
const WORDS_LIMIT_BYTES: usize = 300;

/// What a runtime reports of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// `containerd`, `cri-o`, `docker` (which is cri-dockerd).
    pub name: String,
    pub version: String,
    /// Why it is not ready, if it reports that (`RuntimeReady`).
    pub not_ready: Option<String>,
    /// Why its network is not (`NetworkReady`).
    pub network_not_ready: Option<String>,
}

pub(super) async fn ask(socket: &Path) -> Result<Up, Down> {
    let stream = stream::connect(&At::Unix(socket.to_owned())).await?;
    let (client, connection) = grpc::connect(stream).await?;
    tokio::select! {
        runtime = talk(client) => runtime.map(|runtime| Up { runtime: Some(runtime) }),
        error = connection => Err(error),
    }
}

async fn talk(mut client: Client) -> Result<Runtime, Down> {
    let version = client.call(&format!("{SERVICE}Version")).await?;
    let (name, number) = read_version(&version).map_err(|error| malformed("Version", error))?;
    let status = client.call(&format!("{SERVICE}Status")).await?;
    let (not_ready, network_not_ready) = read_status(&status).map_err(|error| malformed("Status", error))?;
    Ok(Runtime { name, version: number, not_ready, network_not_ready })
}

fn malformed(method: &str, error: Malformed) -> Down {
    Down::wrong(format!("its answer to {method} cannot be read: {error}"))
}

/// `VersionResponse`: 2 runtime_name, 3 runtime_version.
fn read_version(message: &[u8]) -> Result<(String, String), Malformed> {
    let (mut name, mut version) = (String::new(), String::new());
    for field in Fields::new(message) {
        match field? {
            (2, Value::Bytes(bytes)) => name = words(bytes),
            (3, Value::Bytes(bytes)) => version = words(bytes),
            _ => {}
        }
    }
    Ok((name, version))
}

/// `StatusResponse`: 1 status, of which 1 are the conditions.
fn read_status(message: &[u8]) -> Result<(Option<String>, Option<String>), Malformed> {
    let mut outcome = (None, None);
    for field in Fields::new(message) {
        let (1, Value::Bytes(status)) = field? else { continue };
        for field in Fields::new(status) {
            let (1, Value::Bytes(bytes)) = field? else { continue };
            let condition = Condition::read(bytes)?;
            match condition.name.as_str() {
                "RuntimeReady" => outcome.0 = condition.why_not(),
                "NetworkReady" => outcome.1 = condition.why_not(),
                _ => {}
            }
        }
    }
    Ok(outcome)
}

/// `RuntimeCondition`: 1 type, 2 status, 3 reason, 4 message. A false status is not sent at all.
#[derive(Default)]
struct Condition {
    name: String,
    holds: bool,
    reason: String,
    message: String,
}

impl Condition {
    fn read(message: &[u8]) -> Result<Self, Malformed> {
        let mut read = Self::default();
        for field in Fields::new(message) {
            match field? {
                (1, Value::Bytes(bytes)) => read.name = words(bytes),
                (2, Value::Number(number)) => read.holds = number != 0,
                (3, Value::Bytes(bytes)) => read.reason = words(bytes),
                (4, Value::Bytes(bytes)) => read.message = words(bytes),
                _ => {}
            }
        }
        Ok(read)
    }

    fn why_not(self) -> Option<String> {
        let words = [self.reason, self.message].into_iter().filter(|word| !word.is_empty());
        (!self.holds).then(|| words.collect::<Vec<_>>().join(": "))
    }
}

fn words(bytes: &[u8]) -> String {
    text::cut(&text::message(bytes), WORDS_LIMIT_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{status:{conditions:[{RuntimeReady true},{NetworkReady false NetworkPluginNotReady "cni"}]}}`, as containerd
    /// writes it.
    fn status() -> Vec<u8> {
        let ready = [&b"\x0a\x0cRuntimeReady"[..], b"\x10\x01"].concat();
        let network = [&b"\x0a\x0cNetworkReady"[..], b"\x1a\x15NetworkPluginNotReady", b"\x22\x03cni"].concat();
        let conditions: Vec<u8> = [ready, network].iter().flat_map(|one| nested(1, one)).collect();
        nested(1, &conditions)
    }

    fn nested(field: u8, message: &[u8]) -> Vec<u8> {
        [&[field << 3 | 2, u8::try_from(message.len()).unwrap()], message].concat()
    }

    #[test]
    fn conditions_are_read_and_a_false_one_reports_why() {
        let (runtime, network) = read_status(&status()).unwrap();
        assert_eq!((runtime, network.as_deref()), (None, Some("NetworkPluginNotReady: cni")));
        let whole = status();
        for length in 1..whole.len() {
            assert!(read_status(&whole[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_version_is_read_with_fields_that_are_not_known() {
        let bytes = b"\x0a\x050.1.0\x12\x0acontainerd\x1a\x061.6.20\x22\x02v1\x98\x06\x01\xa5\x06\x01\x02\x03\x04";
        assert_eq!(read_version(bytes).unwrap(), ("containerd".to_owned(), "1.6.20".to_owned()));
    }
}
