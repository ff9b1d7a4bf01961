//! `UUID` and `PowerState` of a Redfish system (DSP0268, ComputerSystem), asked at the address and by the account of `fence_redfish`.

use std::{pin::pin, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    Request, Response, StatusCode,
    body::Bytes,
    client::conn::http1,
    header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue, LOCATION},
};
use hyper_util::rt::TokioIo;
use nodewell_remediation::snapshot::PowerState;
use serde::Deserialize;
use tokio::{net::TcpStream, time::timeout};

use super::{
    Answer, AskError, Login,
    tls::{self, Trust},
};
use crate::runner::Runner;

/// For all of it; a BMC takes up to some seconds for TLS alone.
const DEADLINE: Duration = Duration::from_secs(30);
const DEFAULT_PORT: &str = "443";
/// A system's description is some 20 KiB.
const LIMIT_BYTES: usize = 1024 * 1024;

#[derive(Deserialize)]
struct System {
    #[serde(rename = "UUID")]
    uuid: Option<String>,
    #[serde(rename = "PowerState")]
    power: Option<String>,
}

/// On the way from one to the other (`PoweringOff`) it is neither.
fn power(state: Option<&str>) -> PowerState {
    match state {
        Some("On") => PowerState::On,
        Some("Off") => PowerState::Off,
        _ => PowerState::Unknown,
    }
}

/// By which the BMC is asked. No `Debug`.
#[derive(Clone, Copy)]
struct Account<'a> {
    user: &'a str,
    password: &'a str,
}

/// The UUID and the power of the system, in one request: a session of its own would be one more, and one that is left behind.
pub(super) async fn ask(login: Login<'_>, runner: &Runner) -> Result<Answer, AskError> {
    let body = timeout(DEADLINE, get(login, runner)).await.map_err(|_| format!("no answer within {DEADLINE:?}"))??;
    Ok(answer(&body)?)
}

pub(crate) fn answer(body: &[u8]) -> Result<Answer, String> {
    // serde takes an array for a struct, by the order of its fields.
    let object = Some(body).filter(|body| body.trim_ascii_start().starts_with(b"{"));
    let system = object.and_then(|body| serde_json::from_slice::<System>(body).ok());
    let system = system.ok_or_else(|| "the answer is not a Redfish system".to_owned())?;
    Ok(Answer { uuid: system.uuid.unwrap_or_default(), power: power(system.power.as_deref()) })
}

async fn get(login: Login<'_>, runner: &Runner) -> Result<Bytes, AskError> {
    let Login { options, unanswered } = login;
    let given = |name: &str| options.values.get(name).map(String::as_str);
    let (host, path) = (given("ip").unwrap_or_default(), given("systems_uri").unwrap_or_default());
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port: u16 = given("ipport").unwrap_or(DEFAULT_PORT).parse().map_err(|_| "ipport is no port".to_owned())?;
    let stream = TcpStream::connect((host, port)).await.map_err(|error| format!("{host} port {port}: {error}"))?;
    let trust = if given("ssl_insecure").is_some_and(super::is_true) {
        Trust::Unverified
    } else {
        runner.ca_file()?.map_or(Trust::HostAuthorities, Trust::AuthoritiesOf)
    };
    let stream = tls::connect(stream, host, trust).await.map_err(|error| no_tls(host, &error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| format!("HTTP with {host}: {error}"))?;
    let account =
        Account { user: given("username").unwrap_or_default(), password: given("password").unwrap_or_default() };
    let asked = async {
        let request = request(&authority(host, port), path, account)?;
        unanswered.sent();
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        unanswered.answered();
        if answer.status() != StatusCode::OK {
            let why = format!("{host} answers {} for {path}{}", answer.status(), advice(&answer));
            return Err(AskError { why, is_login_refused: is_refused(answer.status()) });
        }
        let body = Limited::new(answer.into_body(), LIMIT_BYTES).collect().await;
        body.map(|body| body.to_bytes()).map_err(|error| AskError::from(error.to_string()))
    };
    let mut asked = pin!(asked);
    // Without a length the answer ends with the connection, and is here only then.
    tokio::select! {
        biased;
        answer = &mut asked => answer,
        _ = connection => asked.await,
    }
}

/// BMCs leave the factory with certificates that no authority has signed.
fn no_tls(host: &str, error: &std::io::Error) -> String {
    format!("TLS with {host}: {error}; give it a certificate that this host trusts, or write ssl_insecure=1")
}

/// As a URL has it: some BMCs answer only to their own name and port.
fn authority(host: &str, port: u16) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    if port.to_string() == DEFAULT_PORT { host } else { format!("{host}:{port}") }
}

fn is_refused(status: StatusCode) -> bool {
    [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status)
}

/// The agent would follow to another address, which may be another machine's: it has to be written down.
fn advice<B>(answer: &Response<B>) -> String {
    let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let path = location.map(|location| location.find("/redfish/").map_or(location, |at| &location[at..]));
    match (path, answer.status()) {
        (Some(path), status) if status.is_redirection() => format!("; it is elsewhere: write systems_uri={path}"),
        (_, StatusCode::NOT_FOUND) => "; there is no such system: see the members of /redfish/v1/Systems".to_owned(),
        (_, status) if is_refused(status) => {
            "; look at username, and at the password in the method's Secret".to_owned()
        }
        _ => String::new(),
    }
}

fn request(host: &str, path: &str, account: Account<'_>) -> Result<Request<Empty<Bytes>>, String> {
    let Account { user, password } = account;
    let account = BASE64_STANDARD.encode(format!("{user}:{password}"));
    let mut account = HeaderValue::from_str(&format!("Basic {account}")).map_err(|_| "the account".to_owned())?;
    account.set_sensitive(true);
    let request =
        Request::get(path).header(HOST, host).header(ACCEPT, "application/json").header(AUTHORIZATION, account);
    request.body(Empty::new()).map_err(|_| format!("systems_uri is {path}, which is no path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bmc_is_named_with_its_port_unless_that_is_the_usual_one() {
        assert_eq!(authority("bmc-1", 443), "bmc-1");
        assert_eq!(authority("bmc-1", 8443), "bmc-1:8443");
        assert_eq!(authority("fd00::1", 443), "[fd00::1]");
        assert_eq!(authority("fd00::1", 8443), "[fd00::1]:8443");
    }

    #[test]
    fn what_names_no_properties_is_no_system() {
        let guid = "5f1a2b3c-0000-4000-8000-000000000001";
        let named = format!(" {{\"UUID\": \"{guid}\", \"PowerState\": \"Off\"}}");
        assert_eq!(answer(named.as_bytes()).unwrap().power, PowerState::Off);
        for body in [format!("[\"{guid}\", \"Off\"]"), format!("\"{guid}\""), "null".to_owned(), String::new()] {
            assert_eq!(answer(body.as_bytes()).err().as_deref(), Some("the answer is not a Redfish system"), "{body}");
        }
    }

    #[test]
    fn each_answer_leads_to_what_has_to_be_mended() {
        for (status, location, is_login_refused, expected) in [
            (401, None, true, "look at username, and at the password"),
            (403, Some("/redfish/v1/Systems/2"), true, "look at username, and at the password"),
            (404, None, false, "see the members of /redfish/v1/Systems"),
            (301, Some("https://10.0.0.9/redfish/v1/Systems/2"), false, "write systems_uri=/redfish/v1/Systems/2"),
            (308, Some("/elsewhere"), false, "write systems_uri=/elsewhere"),
            (302, None, false, ""),
            (500, None, false, ""),
            (503, Some("/redfish/v1/Systems/2"), false, ""),
        ] {
            let answer = Response::builder().status(status);
            let answer = location.into_iter().fold(answer, |answer, location| answer.header(LOCATION, location));
            let answer = answer.body(()).unwrap();
            assert_eq!(is_refused(answer.status()), is_login_refused, "{status}");
            let found = advice(&answer);
            assert_eq!(found.is_empty(), expected.is_empty(), "{status}: {found}");
            assert!(found.contains(expected), "{status}: {found}");
        }
    }
}
