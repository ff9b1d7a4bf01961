//! A BMC that refuses the login is asked ever more seldom, and at once with another password.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};
use std::{path::PathBuf, time::Duration};

use nodewell_power::{
    native::{NativePower, Settings},
    runner::Runner,
};
use nodewell_reconcile::power::Power;
use nodewell_remediation::{facts::Node, time::Moment};
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

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
/// `fence:right`
const RIGHT: &str = "basic zmvuy2u6cmlnahq=";
const METADATA: &str = r#"cat <<'X'
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

/// A BMC with one account that counts logins.
async fn bmc(logins: Arc<AtomicUsize>) -> u16 {
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
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = TlsAcceptor::from(Arc::new(config.clone())).accept(stream).await else { continue };
            let mut buffer = vec![0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            logins.fetch_add(1, Ordering::SeqCst);
            let request = String::from_utf8_lossy(&buffer[..count]).to_ascii_lowercase();
            let status = if request.contains(RIGHT) { "200 OK" } else { "401 Unauthorized" };
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n{{\"UUID\": \"{UUID}\"}}");
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    port
}

struct Room {
    _bench: Bench,
    cluster: Arc<Fake>,
    power: NativePower<Fake>,
    secs: Arc<AtomicU64>,
    logins: Arc<AtomicUsize>,
    node: Node,
}

async fn room() -> Room {
    let (bench, cluster, secs) = (Bench::new(), Arc::new(Fake::default()), Arc::new(AtomicU64::new(1000)));
    bench.script("fence_redfish", METADATA);
    let logins = Arc::new(AtomicUsize::new(0));
    let port = bmc(Arc::clone(&logins)).await;
    let map = "fence-config-n1";
    cluster.map(map, "config.properties", &format!("power_management=bmc\nsystem_uuid={UUID}"));
    let method = format!(
        "agent_name=fence_redfish\nip=127.0.0.1\nipport={port}\nsystems_uri=/redfish/v1/Systems/1\nssl_insecure=1\n\
         username=fence"
    );
    cluster.map(map, "fence-method-bmc", &method);
    let clock = Arc::clone(&secs);
    let now = move || Moment(Duration::from_secs(clock.load(Ordering::SeqCst)));
    let runner = Runner::new(PathBuf::from(SUPERVISOR), vec!["fence-agent".to_owned()], Arc::new(now));
    let settings = Settings {
        agents: bench.path().to_owned(),
        refresh: Duration::ZERO,
        refresh_refused: Duration::ZERO,
        ..Settings::default()
    };
    let power = NativePower::new(Arc::clone(&cluster), runner, settings);
    let node = node("n1", UUID);
    power.unread([node.clone()].iter());
    Room { _bench: bench, cluster, power, secs, logins, node }
}

impl Room {
    fn password(&self, word: &str) {
        self.cluster.secret_of("secret-fence-method-bmc-n1", "password", word);
    }

    /// What is said of the BMC so many seconds later, and how often it was logged in to by then.
    async fn after(&self, secs: u64) -> (Result<(), String>, usize) {
        self.secs.fetch_add(secs, Ordering::SeqCst);
        let identity = self.power.plan(&self.node).await.unwrap().levels[0].identity.clone().unwrap();
        (identity, self.logins.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn a_refused_account_is_tried_four_times_in_an_hour() {
    let room = room().await;
    room.password("wrong");
    let (identity, logins) = room.after(0).await;
    let said = identity.unwrap_err();
    assert!(said.contains("401") && said.contains("asks again after 30 s") && !said.contains("wrong"), "{said}");
    assert_eq!(logins, 1);
    assert_eq!(room.after(29).await, (Err(said), 1), "the same sentence, and no login");
    let mut counts = Vec::new();
    // Asked every ten seconds for an hour, as by a record that waits.
    for _ in 0..360 {
        counts.push(room.after(10).await.1);
    }
    assert_eq!(counts.last(), Some(&4), "{counts:?}");
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
    assert!(room.after(1).await.0.unwrap_err().contains("after 30 s"), "a first refusal again");
}
