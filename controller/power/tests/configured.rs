//! NativePower over ConfigMaps and Secrets, with agents that are scripts.

use std::{
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
    time::Duration,
};

use nodewell_power::{
    native::{NativePower, Settings},
    runner::Runner,
};
use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::ConditionStatus,
    snapshot::{FenceScope, PowerState},
};

use super::{
    bench::Bench,
    fake::{Fake, node},
};

const METADATA: &str = r#"<resource-agent name="fence_test"><parameters>
<parameter name="action"><getopt mixed="-o, --action=[a]"/><content type="string" default="reboot"/></parameter>
<parameter name="ip" required="1"><getopt mixed="-a, --ip=[ip]"/><content type="string"/></parameter>
<parameter name="plug"><getopt mixed="-n, --plug=[id]"/><content type="string"/></parameter>
<parameter name="password"><getopt mixed="-p, --password=[p]"/><content type="string"/></parameter>
<parameter name="power_timeout"><getopt mixed="--power-timeout=[s]"/><content type="second" default="20"/></parameter>
</parameters><actions><action name="on"/><action name="off"/><action name="reboot"/><action name="status"/></actions></resource-agent>"#;

/// A PDU with a file for each plug; every order is written down. One that is stuck does nothing.
const PDU: &str = r#"
D=$(dirname $0); plug=; action=
while IFS='=' read -r key value; do declare "$key=$value"; done
case $action in
metadata) cat $D/metadata.xml;;
status) [ ! -e $D/silent ] || exit 1; [ ! -e $D/slow$plug ] || cat $D/slow$plug >> $D/passed; [ "$(cat $D/plug$plug)" = on ] || { echo Status: OFF; exit 2; };;
on|off) [ ! -e $D/stuck$plug ] || exit 1; echo "$action $plug ${password:-none}" >> $D/orders; echo $action > $D/plug$plug;;
*) exit 1;;
esac
exit 0"#;

pub(crate) struct Room {
    pub(crate) bench: Bench,
    pub(crate) cluster: Arc<Fake>,
    pub(crate) power: NativePower<Fake>,
}

pub(crate) fn room() -> Room {
    room_by(Bench::runner)
}

fn room_by(runner: fn(&Bench) -> Runner) -> Room {
    let bench = Bench::new();
    bench.script("fence_test", PDU);
    std::fs::write(bench.path().join("metadata.xml"), METADATA).unwrap();
    for plug in 1..5 {
        std::fs::write(bench.path().join(format!("plug{plug}")), "on\n").unwrap();
    }
    let cluster = Arc::new(Fake::default());
    // What is mended in a test is looked at again at once.
    let refresh_refused = Duration::ZERO;
    let settings = Settings { agents: bench.path().to_owned(), refresh_refused, ..Settings::default() };
    let power = NativePower::new(Arc::clone(&cluster), runner(&bench), settings);
    power.unread([node("n1", "")].iter());
    Room { bench, cluster, power }
}

impl Room {
    pub(crate) fn configure(&self, name: &str, plugs: &[u32]) {
        let map = format!("fence-config-{name}");
        let names: Vec<String> = plugs.iter().map(|plug| format!("pdu{plug}")).collect();
        self.cluster.map(&map, "config.properties", &format!("power_management={}", names.join(" ")));
        self.accept(name, plugs);
        for (plug, method) in plugs.iter().zip(names) {
            let text = format!("agent_name=fence_test\nip=pdu\nplug={plug}\nidentity=configured");
            self.cluster.map(&map, &format!("fence-method-{method}"), &text);
        }
    }

    /// A person confirms that the node hangs on these.
    pub(crate) fn accept(&self, name: &str, plugs: &[u32]) {
        let map = format!("fence-config-{name}");
        let before = self.cluster.maps.lock().unwrap()[&map]["config.properties"].clone();
        let outlets: Vec<String> = plugs.iter().map(|plug| format!("pdu/{plug}")).collect();
        let steps = before.lines().filter(|line| !line.starts_with("outlets=")).collect::<Vec<_>>().join("\n");
        self.cluster.map(&map, "config.properties", &format!("{steps}\noutlets={}", outlets.join(" ")));
    }
}

#[tokio::test]
async fn a_node_on_two_supplies_is_off_when_both_are() {
    let room = room();
    room.configure("n1", &[1, 2]);
    room.cluster.secret_of("secret-fence-method-pdu1-n1", "password", "word-1234\n");
    let node = node("n1", "");
    let plan = room.power.plan(&node).await.unwrap();
    assert_eq!((plan.levels[0].identity.clone(), plan.longest()), (Some(Ok(())), Duration::from_secs(100)));
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::On);
    assert_eq!(
        room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap(),
        ["pdu1", "pdu2"]
    );
    assert_eq!(room.bench.read("orders"), "off 1 word-1234\noff 2 none\n");
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Off);
    std::fs::write(room.bench.path().join("plug2"), "on\n").unwrap();
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::On, "one supply is enough to run");
    room.power.on(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::On);
}

/// Each supply answers, and both together later than a reading is waited for.
#[tokio::test]
async fn methods_that_answer_too_late_to_be_read_are_not_ready() {
    let room = room_by(Bench::runner_by_scripts);
    room.configure("n1", &[1, 2]);
    let slow = |plug: u32, secs: u32| {
        std::fs::write(room.bench.path().join(format!("slow{plug}")), format!("{secs}\n")).unwrap();
    };
    slow(1, 5);
    slow(2, 4);
    assert_eq!(room.power.preflight(&node("n1", "")).await.reason, "FenceReady");
    slow(1, 11);
    slow(2, 11);
    let preflight = room.power.preflight(&node("n1", "")).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "NoAnswer"));
    // The 22 s of the scripts, and what a busy machine adds to them.
    let took = preflight.message.strip_prefix("the machine's power cannot be read: pdu1, pdu2 took ");
    let (secs, rest) = took.and_then(|took| took.split_once(' ')).unwrap_or_else(|| panic!("{}", preflight.message));
    assert!(secs.parse::<u32>().unwrap() >= 22, "{}", preflight.message);
    assert!(rest.starts_with("s to report it, and a reading is waited for 20 s"), "{}", preflight.message);
    slow(1, 5);
    slow(2, 4);
    assert_eq!(room.power.preflight(&node("n1", "")).await.reason, "FenceReady", "they are run again at once");
}

#[tokio::test]
async fn a_person_who_waits_sees_what_is_asked() {
    static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    fn note(text: &str) {
        ASKED.lock().unwrap().push(text.to_owned());
    }
    let mut room = room();
    room.configure("n1", &[1]);
    room.power = room.power.reporting(Some(note));
    assert_eq!(room.power.preflight(&node("n1", "")).await.reason, "FenceReady");
    assert_eq!(*ASKED.lock().unwrap(), ["asking fence_test at pdu for the power …"]);
}

#[tokio::test]
async fn without_a_configuration_there_is_no_method() {
    let room = room();
    let node = node("n1", "");
    assert_eq!(room.power.plan(&node).await.unwrap_err().reason, "NoMethods");
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown);
    assert!(matches!(
        room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await,
        Err(Failed::NotBegun(_))
    ));
    let preflight = room.power.preflight(&node).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::Unknown, "NoMethods"));
}

#[tokio::test]
async fn an_api_server_that_is_down_permits_nothing() {
    let room = room();
    room.configure("n1", &[1]);
    let node = node("n1", "");
    room.power.plan(&node).await.unwrap();
    *room.cluster.down.lock().unwrap() = true;
    assert!(matches!(
        room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await,
        Err(Failed::NotBegun(_))
    ));
    assert_eq!(room.bench.read("orders"), "");
}

#[tokio::test]
async fn a_configuration_edited_in_between_is_read_again_before_an_act() {
    let room = room();
    room.configure("n1", &[1]);
    let node = node("n1", "");
    room.power.plan(&node).await.unwrap();
    room.cluster.map("fence-config-n1", "fence-method-pdu1", "agent_name=fence_test\nip=pdu\nplug=1\nmethd=x");
    let failed = room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap_err();
    assert!(matches!(&failed, Failed::NotBegun(why) if why.contains("no option methd")), "{failed:?}");
    assert_eq!(room.bench.read("orders"), "");
}

#[tokio::test]
async fn two_nodes_on_one_plug_are_refused_both() {
    let room = room();
    room.configure("n1", &[1]);
    let (one, two) = (node("n1", ""), node("n2", ""));
    room.power.plan(&one).await.unwrap();
    room.configure("n2", &[1]);
    for node in [&two, &one] {
        let blocker = room.power.plan(node).await.unwrap_err();
        assert_eq!(blocker.reason, "FenceNotReady");
        let message = blocker.message;
        assert!(message.contains("n1") && message.contains("n2") && message.contains("on one plug"), "{message}");
    }
    assert!(matches!(
        room.power.off(&one, &FenceScope::default(), &room.bench.lease_deadline(60)).await,
        Err(Failed::NotBegun(_))
    ));
    room.power.retain(|name| name == "n1");
    room.power.plan(&one).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_cannot_be_asked_who_it_is_needs_identity_configured() {
    let room = room();
    room.configure("n1", &[1]);
    room.cluster.map("fence-config-n1", "fence-method-pdu1", "agent_name=fence_test\nip=pdu\nplug=1");
    room.cluster.map("fence-config-n1", "config.properties", "power_management=pdu1");
    let node = node("n1", "00112233-4455-6677-8899-aabbccddeeff");
    let plan = room.power.plan(&node).await.unwrap();
    assert!(plan.levels[0].identity.clone().unwrap().unwrap_err().contains("identity=configured"));
    assert!(matches!(
        room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await,
        Err(Failed::NotBegun(_))
    ));
    assert_eq!(room.power.preflight(&node).await.reason, "IdentityUnproven");
    assert_eq!(room.bench.read("orders"), "");
}

/// The cloud's own controller wrote it.
#[tokio::test]
async fn a_clouds_machine_is_known_by_the_nodes_provider_id() {
    let room = room();
    room.bench.script("fence_aws", PDU);
    std::fs::write(room.bench.path().join("metadata.xml"), METADATA.replace(r#" required="1""#, "")).unwrap();
    room.cluster.map("fence-config-n1", "config.properties", "power_management=aws");
    room.cluster.map("fence-config-n1", "fence-method-aws", "agent_name=fence_aws\nplug=i-0abc");
    let mut node = node("n1", "");
    // Nor is it compared with others: n2 was never read.
    room.power.unread([node.clone(), super::fake::node("n2", "")].iter());
    for (provider_id, is_proven) in [("aws:///eu-1a/i-0abc", true), ("aws:///eu-1a/i-0def", false), ("", false)] {
        node.provider_id = provider_id.into();
        node.resource_version.push('x');
        let identity = room.power.plan(&node).await.unwrap().levels[0].identity.clone().unwrap();
        assert_eq!(identity.is_ok(), is_proven, "{provider_id}: {identity:?}");
    }
}

#[tokio::test]
async fn a_secret_that_was_asked_for_and_is_missing_is_reported() {
    let room = room();
    room.configure("n1", &[1]);
    let text = "agent_name=fence_test\nip=pdu\nplug=1\nidentity=configured\npassword-script=/x";
    room.cluster.map("fence-config-n1", "fence-method-pdu1", text);
    let node = node("n1", "");
    let missing = room.power.plan(&node).await.unwrap_err();
    assert_eq!(missing.reason, "FenceNotReady");
    assert!(missing.message.contains("no Secret secret-fence-method-pdu1-n1"), "{missing:?}");
    room.cluster.secret_of("secret-fence-method-pdu1-n1", "ip", "other");
    let preflight = room.power.preflight(&node).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "FenceNotReady"));
    assert!(preflight.message.contains("no such option for a Secret"), "{}", preflight.message);
}

#[tokio::test]
async fn a_second_supply_that_fails_leaves_it_in_doubt() {
    let room = room();
    room.configure("n1", &[1, 2]);
    room.cluster.secret_of("secret-fence-method-pdu2-n1", "password", "fine-word");
    let node = node("n1", "");
    room.power.plan(&node).await.unwrap();
    room.cluster.secret_of("secret-fence-method-pdu2-n1", "passwort", "fine-word");
    let failed = room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap_err();
    assert!(!matches!(failed, Failed::Refused(_)), "{failed:?}");
    assert_eq!(room.power.preflight(&node).await.status, ConditionStatus::False);
}

#[tokio::test]
async fn methods_of_isolation_turn_off_and_those_of_recovery_on() {
    let room = room();
    let map = "fence-config-n1";
    let steps = "isolation=cordon a\npower_management=p\nrecovery=b uncordon\noutlets=pdu/1";
    room.cluster.map(map, "config.properties", steps);
    for (name, plug) in [("a", 3), ("p", 1), ("b", 4)] {
        let text = format!("agent_name=fence_test\nip=pdu\nplug={plug}\nidentity=configured");
        room.cluster.map(map, &format!("fence-method-{name}"), &text);
    }
    let (node, lease_deadline) = (node("n1", ""), room.bench.lease_deadline(60));
    let plan = room.power.plan(&node).await.unwrap();
    room.power.methods(&node, &plan.isolation, &lease_deadline).await.unwrap();
    room.power.methods(&node, &plan.recovery, &lease_deadline).await.unwrap();
    assert_eq!(room.bench.read("orders"), "off 3 none\non 4 none\n");
}

/// An agent would take the second line for another option.
#[tokio::test]
async fn a_secret_of_no_line_or_of_two_is_not_given_to_an_agent() {
    for text in ["", "\n", "one\nip=10.0.0.9", "one\rtwo"] {
        let room = room();
        room.configure("n1", &[1]);
        room.cluster.secret_of("secret-fence-method-pdu1-n1", "password", text);
        let node = node("n1", "");
        let off = room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await;
        let Err(Failed::NotBegun(why)) = off else { panic!("{text:?}: {off:?}") };
        assert!(why.contains("it has to be one line, which is not empty"), "{text:?}: {why}");
        assert_eq!(room.bench.read("orders"), "");
    }
}

#[tokio::test]
async fn without_a_providers_plugin_nothing_is_replaced() {
    let room = room();
    let reaped = room.power.reap(&node("n1", ""), &room.bench.lease_deadline(60)).await;
    assert!(matches!(reaped, Err(Failed::NotBegun(_))), "{reaped:?}");
}

/// n1 on plug 1, isolated by a port of a switch with a Secret of its own.
fn isolated() -> Room {
    let room = room();
    let map = "fence-config-n1";
    room.cluster.map(map, "config.properties", "isolation=port\npower_management=p\noutlets=pdu/1");
    for (name, plug) in [("port", 3), ("p", 1)] {
        let text = format!("agent_name=fence_test\nip=pdu\nplug={plug}\nidentity=configured");
        room.cluster.map(map, &format!("fence-method-{name}"), &text);
    }
    room.cluster.secret_of("secret-fence-method-port-n1", "password", "fine-word");
    room
}

/// Or the act that begins with it would fail when it is needed.
#[tokio::test]
async fn a_secret_of_the_isolation_is_looked_at_before_power_is_proven() {
    let room = isolated();
    room.power.plan(&node("n1", "")).await.unwrap();
    let room = isolated();
    room.cluster.secret_of("secret-fence-method-port-n1", "passwort", "fine-word");
    assert_eq!(room.power.plan(&node("n1", "")).await.unwrap_err().reason, "FenceNotReady");
}

/// Its address may have become another machine's meanwhile. What has answered ever since is believed for a while.
#[tokio::test]
async fn a_machine_that_did_not_answer_has_to_prove_again_whose_it_is() {
    let room = isolated();
    let (node, scope) = (node("n1", ""), FenceScope::default());
    room.power.plan(&node).await.unwrap();
    // Nothing that is proven now would be.
    room.cluster.secret_of("secret-fence-method-port-n1", "passwort", "fine-word");
    for _ in 0..2 {
        assert_eq!(room.power.read(&node, &scope).await, PowerState::On, "it was proven a moment ago");
    }
    std::fs::write(room.bench.path().join("silent"), "").unwrap();
    assert_eq!(room.power.read(&node, &scope).await, PowerState::Unknown, "it does not answer");
    std::fs::remove_file(room.bench.path().join("silent")).unwrap();
    assert_eq!(room.power.read(&node, &scope).await, PowerState::Unknown, "it has to be proven");
    room.cluster.secret_of("secret-fence-method-port-n1", "password", "fine-word");
    assert_eq!(room.power.read(&node, &scope).await, PowerState::On);
}

#[tokio::test]
async fn a_file_of_its_name_stands_for_a_secret() {
    let Room { bench, cluster, .. } = room();
    let (folder, name) = (bench.path().join("secrets"), "secret-fence-method-pdu1-n1");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join(name), "password=of-the-file\naddress=pdu\nnode=n1\n").unwrap();
    std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o600)).unwrap();
    let settings = Settings { agents: bench.path().to_owned(), secrets_folder: Some(folder), ..Settings::default() };
    let room = Room { power: NativePower::new(Arc::clone(&cluster), bench.runner(), settings), bench, cluster };
    room.power.unread([node("n1", "")].iter());
    room.configure("n1", &[1, 2]);
    for plug in [1, 2] {
        room.cluster.secret_of(&format!("secret-fence-method-pdu{plug}-n1"), "password", "of-the-api");
    }
    let lease_deadline = room.bench.lease_deadline(60);
    room.power.off(&node("n1", ""), &FenceScope::default(), &lease_deadline).await.unwrap();
    assert_eq!(room.bench.read("orders"), "off 1 of-the-file\noff 2 of-the-api\n");
}
