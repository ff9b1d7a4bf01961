//! A BMC that refuses the login is asked ever more seldom, and at once with another password; and how often one is asked that does
//! not.

mod changed;
mod late;
mod shared;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
use std::{path::PathBuf, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use nodewell_power::{
    native::{By, NativePower, Outcome, Preflight, Settings},
    runner::Runner,
};
use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    facts::{Condition, ConditionStatus, FENCE_READY, Node},
    time::Moment,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use super::{
    bench::{Bench, SUPERVISOR},
    fake::{Fake, node},
};

const SECRET: &str = "secret-fence-method-bmc-n1";
const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
/// Its agent: notes each status with the password it got, and reports what the file `state` has as its exit status.
const AGENT: &str = r#"input=$(cat)
case $input in *action=status*)
    echo "$input" | sed -n 's/^password=//p' >>@D@/runs
    [ "$(cat @D@/state)" != 2 ] || echo Status: OFF
    exit "$(cat @D@/state)"
esac
cat <<'X'
<resource-agent name="fence_redfish"><parameters>
<parameter name="action"><getopt mixed="-o, --action=[a]"/><content type="string" default="reboot"/></parameter>
<parameter name="ip" required="1"><getopt mixed="-a, --ip=[ip]"/><content type="string"/></parameter>
<parameter name="ipport"><getopt mixed="-u, --ipport=[port]"/><content type="integer"/></parameter>
<parameter name="systems_uri"><getopt mixed="--systems-uri=[uri]"/><content type="string"/></parameter>
<parameter name="ssl_insecure"><getopt mixed="--ssl-insecure"/><content type="boolean"/></parameter>
<parameter name="username"><getopt mixed="-l, --username=[name]"/><content type="string"/></parameter>
<parameter name="password"><getopt mixed="-p, --password=[password]"/><content type="string"/></parameter>
</parameters><actions><action name="on"/><action name="off"/><action name="reboot"/><action name="status"/></actions></resource-agent>
X"#;

/// A BMC with one account that counts logins; its machine is on.
async fn bmc(logins: Arc<AtomicUsize>, password: Arc<Mutex<&'static str>>, is_late: Arc<AtomicBool>) -> u16 {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut unanswered = Vec::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = TlsAcceptor::from(Arc::new(config.clone())).accept(stream).await else { continue };
            let mut buffer = vec![0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            logins.fetch_add(1, Ordering::SeqCst);
            if is_late.load(Ordering::SeqCst) {
                unanswered.push(stream);
                continue;
            }
            let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let right = BASE64_STANDARD.encode(format!("fence:{}", password.lock().unwrap()));
            let status = if request.contains(&right) { "200 OK" } else { "401 Unauthorized" };
            let system = format!("{{\"UUID\": \"{UUID}\", \"PowerState\": \"On\"}}");
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n{system}");
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    port
}

struct Room {
    bench: Bench,
    cluster: Arc<Fake>,
    power: NativePower<Fake>,
    secs: Arc<AtomicU64>,
    logins: Arc<AtomicUsize>,
    /// Which the BMC takes.
    password: Arc<Mutex<&'static str>>,
    /// It has no answer before it is given up.
    is_late: Arc<AtomicBool>,
    node: Node,
}

async fn room() -> Room {
    let (bench, cluster, secs) = (Bench::new(), Arc::new(Fake::default()), Arc::new(AtomicU64::new(1000)));
    bench.script("fence_redfish", &AGENT.replace("@D@", &bench.path().display().to_string()));
    std::fs::write(bench.path().join("state"), "0").unwrap();
    let logins = Arc::new(AtomicUsize::new(0));
    let password = Arc::new(Mutex::new("right"));
    let is_late = Arc::new(AtomicBool::new(false));
    let port = bmc(Arc::clone(&logins), Arc::clone(&password), Arc::clone(&is_late)).await;
    let map = "fence-config-n1";
    cluster.map(map, "config.properties", &format!("power_management=bmc\nsystem_uuid={UUID}"));
    let method = format!(
        "agent_name=fence_redfish\nip=127.0.0.1\nipport={port}\nsystems_uri=/redfish/v1/Systems/1\nssl_insecure=1\n\
         username=fence"
    );
    cluster.map(map, "fence-method-bmc", &method);
    let node = node("n1", UUID);
    let power = leader(&bench, &cluster, &secs, &node);
    Room { bench, cluster, power, secs, logins, password, is_late, node }
}

/// A process that knows nothing yet.
fn leader(bench: &Bench, cluster: &Arc<Fake>, secs: &Arc<AtomicU64>, node: &Node) -> NativePower<Fake> {
    let clock = Arc::clone(secs);
    let now = move || Moment(Duration::from_secs(clock.load(Ordering::SeqCst)));
    let runner = Runner::new(PathBuf::from(SUPERVISOR), vec!["fence-agent".to_owned()], Arc::new(now));
    let settings = Settings {
        agents: bench.path().to_owned(),
        refresh: Duration::ZERO,
        refresh_refused: Duration::ZERO,
        ..Settings::default()
    };
    let power = NativePower::new(Arc::clone(cluster), runner, settings);
    power.unread([node.clone()].iter());
    power
}

impl Room {
    fn password(&self, word: &str) {
        self.cluster.secret_of(SECRET, "password", word);
    }

    /// Both are valid while BMCs are changed.
    fn rotate(&self, now: &str, before: &str) {
        self.password(now);
        let mut secrets = self.cluster.secrets.lock().unwrap();
        secrets.get_mut(SECRET).unwrap().insert("password.previous".to_owned(), before.as_bytes().to_vec());
    }

    /// Another leader, which knows what this one wrote.
    async fn next_leader(mut self) -> Self {
        let Preflight { status, reason, message } = self.power.preflight(&self.node).await;
        self.node.conditions =
            vec![Condition { kind: FENCE_READY.to_owned(), status, reason, message, ..Condition::default() }];
        self.power = leader(&self.bench, &self.cluster, &self.secs, &self.node);
        self
    }

    /// The passwords that the agent got, one for each of its runs.
    fn runs(&self) -> Vec<String> {
        self.bench.read("runs").lines().map(str::to_owned).collect()
    }

    fn pass(&self, secs: u64) {
        self.secs.fetch_add(secs, Ordering::SeqCst);
    }

    /// What is said of the BMC so many seconds later, and how often it was logged in to by then.
    async fn after(&self, secs: u64) -> (Result<(), String>, usize) {
        self.secs.fetch_add(secs, Ordering::SeqCst);
        let identity = self.power.plan(&self.node).await.unwrap().levels[0].identity.clone().unwrap();
        (identity, self.logins.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn a_refused_account_is_tried_ever_more_seldom() {
    let room = room().await;
    room.password("wrong");
    let (identity, logins) = room.after(0).await;
    let said = identity.unwrap_err();
    assert!(said.contains("401") && said.contains("asks again after 330 s") && !said.contains("wrong"), "{said}");
    assert_eq!(logins, 1);
    assert_eq!(room.after(29).await, (Err(said), 1), "the same sentence, and no login");
    let mut counts = Vec::new();
    // Asked every ten seconds for an hour, as by a record that waits.
    for _ in 0..360 {
        counts.push(room.after(10).await.1);
    }
    assert_eq!(counts.last(), Some(&3), "{counts:?}");
}

#[tokio::test]
async fn another_password_is_tried_at_once() {
    let room = room().await;
    room.password("wrong");
    assert_eq!(room.after(0).await.1, 1);
    assert_eq!(room.after(1).await.1, 1);
    room.password("right");
    assert_eq!(room.after(1).await, (Ok(()), 2));
    // It is proven again and again, as often as before.
    assert_eq!(room.after(1).await, (Ok(()), 3));
    room.password("wrong");
    assert!(room.after(1).await.0.unwrap_err().contains("2 logins were refused within 330 s"), "whatever was typed");
}

#[tokio::test]
async fn the_next_leader_does_not_try_a_refused_account_again() {
    let room = room().await;
    room.password("wrong");
    assert_eq!(room.after(0).await.1, 1);
    let room = room.next_leader().await;
    let message = &room.node.conditions[0].message;
    assert!(message.starts_with("logins: bmc refused current 2"), "{message}");
    let (identity, logins) = room.after(60).await;
    let why = identity.unwrap_err();
    assert!(why.contains("as FenceReady reports; not to be locked out it asks again after 330 s"), "{why}");
    assert_eq!(logins, 1);
    room.password("right");
    assert_eq!(room.after(1).await, (Ok(()), 2), "another Secret is tried at once");
}

/// The preflight is minutes away, and the leader may not live so long.
/// A person writes it down before anything is turned off by it.
#[tokio::test]
async fn a_bmc_without_a_pin_is_asked_whose_it_is() {
    let room = room().await;
    room.password("right");
    assert!(room.power.unpinned(&room.node).await.unwrap().is_none(), "it is written");
    room.cluster.map("fence-config-n1", "config.properties", "power_management=bmc");
    let unpinned = room.power.unpinned(&room.node).await.unwrap().map(|unpinned| unpinned.to_string());
    let expected = format!("write system_uuid={UUID} into config.properties of the ConfigMap fence-config-n1");
    assert!(unpinned.as_ref().is_some_and(|text| text.contains(&expected)), "{unpinned:?}");
}

/// The Secret was edited between the two.
#[tokio::test]
async fn the_next_leader_tries_another_password_at_once() {
    let room = room().await;
    room.password("wrong");
    assert!(room.after(0).await.0.is_err());
    let room = room.next_leader().await;
    room.password("right");
    assert_eq!(room.after(0).await, (Ok(()), 2));
}

#[tokio::test]
async fn a_login_that_an_act_had_refused_is_reported_at_once() {
    let room = room().await;
    room.password("wrong");
    assert!(room.after(0).await.0.is_err());
    assert_eq!(room.power.unreported(), ["n1".to_owned()].into());
    let preflight = room.power.preflight(&room.node).await;
    assert!(preflight.message.starts_with("logins: bmc refused current 2"), "{}", preflight.message);
    assert_eq!(room.power.unreported(), ["n1".to_owned()].into(), "the Node does not have it yet");
    room.power.reported("n1", &preflight.message);
    assert_eq!((room.power.unreported(), room.logins.load(Ordering::SeqCst)), ([].into(), 1), "and asks nothing");
}

#[tokio::test]
async fn a_rotation_is_one_refused_login() {
    let room = room().await;
    room.password("right");
    assert_eq!(room.after(0).await, (Ok(()), 1));
    room.rotate("new", "right");
    assert_eq!(room.after(600).await, (Ok(()), 2), "the BMC is not changed yet, and not asked by the new one");
    let room = room.next_leader().await;
    assert!(room.node.conditions[0].message.starts_with("logins: bmc takes the previous password ["));
    assert_eq!(room.after(600).await, (Ok(()), 4), "a preflight and a proof");
    *room.password.lock().unwrap() = "new";
    assert!(room.after(600).await.0.is_err(), "no BMC is known to take the new one");
    assert!(room.after(100).await.0.is_err());
    assert_eq!(room.after(70).await, (Ok(()), 6));
    room.power.preflight(&room.node).await;
    assert_eq!(room.runs().last().map(String::as_str), Some("new"), "the agent gets the one that was taken");
    let kinds = room.power.login_counts().figures(Moment::default()).kinds;
    let refused = kinds.iter().filter(|(kind, _)| kind.outcome == Outcome::Refused).map(|(_, count)| count);
    assert_eq!(refused.sum::<u64>(), 1);
}

#[tokio::test]
async fn the_bmcs_own_answer_stands_for_the_agents_for_a_day() {
    let room = room().await;
    room.password("right");
    for _ in 0..10 {
        let preflight = room.power.preflight(&room.node).await;
        assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::True, "FenceReady"));
        room.pass(600);
    }
    assert_eq!((room.runs().len(), room.logins.load(Ordering::SeqCst)), (1, 10), "one login for identity and power");
    room.pass(24 * 3600);
    room.power.preflight(&room.node).await;
    assert_eq!(room.runs().len(), 2);
    let map = "fence-config-n1";
    let method = room.cluster.maps.lock().unwrap()[map]["fence-method-bmc"].clone();
    room.cluster.map(
        map,
        "fence-method-bmc",
        &format!("{method}\nsystems_uri=/redfish/v1/Systems/2").replace("systems_uri=/redfish/v1/Systems/1\n", ""),
    );
    room.power.preflight(&room.node).await;
    assert_eq!(room.runs().len(), 3, "another configuration");
    let kinds = room.power.login_counts().figures(Moment::default()).kinds;
    let of = |by| kinds.iter().filter(|(kind, _)| kind.by == by).map(|(_, count)| count).sum::<u64>();
    assert_eq!((of(By::Native), of(By::Agent)), (12, 3));
}

#[tokio::test]
async fn an_agent_that_reports_otherwise_than_the_bmc_is_not_ready() {
    let room = room().await;
    room.password("right");
    std::fs::write(room.bench.path().join("state"), "2").unwrap();
    let preflight = room.power.preflight(&room.node).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "NoAnswer"));
    assert!(preflight.message.contains("the BMC itself reports On and fence_redfish Off"), "{}", preflight.message);
    std::fs::write(room.bench.path().join("state"), "1").unwrap();
    assert_eq!(room.power.preflight(&room.node).await.reason, "NoAnswer", "an agent that fails is run again");
    std::fs::write(room.bench.path().join("state"), "0").unwrap();
    assert_eq!(room.power.preflight(&room.node).await.reason, "FenceReady");
    assert_eq!(room.runs().len(), 3);
}

/// The first of a kind on this host is run; the others come within a day.
#[tokio::test]
async fn a_new_leader_starts_no_python_for_each_node() {
    let room = room().await;
    room.password("right");
    let mut room = room.next_leader().await;
    assert_eq!(room.runs().len(), 1);
    room.power.preflight(&room.node).await;
    assert_eq!(room.runs().len(), 2, "it has not run on this host yet");
    let maps = room.cluster.maps.lock().unwrap()["fence-config-n1"].clone();
    room.cluster.maps.lock().unwrap().insert("fence-config-n2".to_owned(), maps);
    room.cluster.maps.lock().unwrap().remove("fence-config-n1");
    let secret = room.cluster.secrets.lock().unwrap()[SECRET].clone();
    room.cluster.secrets.lock().unwrap().insert("secret-fence-method-bmc-n2".to_owned(), secret);
    room.node.name = "n2".to_owned();
    room.power.retain(|name| name == "n2");
    room.power.unread([room.node.clone()].iter());
    let other = &room.power;
    assert_eq!(other.preflight(&room.node).await.reason, "FenceReady");
    assert_eq!(room.runs().len(), 2);
    room.pass(24 * 3600);
    other.preflight(&room.node).await;
    assert_eq!(room.runs().len(), 3);
}
