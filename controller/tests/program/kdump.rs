//! A crash dump from the packet to the decision: what comes over the wire, by `fence_kdump_send` where it is installed and by
//! its bytes, delays the power and never more.

use std::{
    collections::BTreeSet,
    net::{SocketAddr, UdpSocket},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;
use nodewell_controller::{
    clock,
    kdump::{Listener, listen},
    metrics,
    tally::Tally,
};
use nodewell_power::kdump::Socket;
use nodewell_reconcile::{
    cache::{Cache, Limits, Source},
    clock::Clock,
    cluster::LeaseKind,
};
use nodewell_remediation::{
    action::{Action, IrreversibleOp, Op},
    api::fence::{NodeFence, Phase},
    decide::{Memory, decide},
    facts::{Condition, ConditionStatus, LeaseView, Node},
    snapshot::{FenceLevel, FencePlan, Level, PowerReading, PowerState},
};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

/// Of Debian's and RHEL's package fence-agents.
const SENDER: &str = "/usr/libexec/fence-agents/fence_kdump_send";
/// The machine may be busy with anything.
const PATIENCE: Duration = Duration::from_secs(30);
const WAIT_SECS: u64 = 60;

/// Seconds that went by without a sleep: real sockets and a stopped clock do not mix.
static PASSED: AtomicU64 = AtomicU64::new(1000);
/// One test after the other: they share that clock.
static TURN: Mutex<()> = Mutex::const_new(());

fn pass(seconds: u64) {
    PASSED.fetch_add(seconds, Ordering::Relaxed);
}

fn clock() -> Clock {
    Clock::system(|| Duration::from_secs(PASSED.load(Ordering::Relaxed)))
}

/// Magic number and version, each in the order of the sender's machine.
fn message(magic: u32, version: u32) -> Vec<u8> {
    [magic.to_ne_bytes(), version.to_ne_bytes()].concat()
}

fn a_message() -> Vec<u8> {
    message(0x1B30_2A40, 1)
}

fn node(name: &str, address: &str, ready: ConditionStatus) -> Node {
    let condition = Condition { kind: "Ready".into(), status: ready, ..Condition::default() };
    Node {
        name: name.into(),
        uid: format!("uid-{name}"),
        resource_version: "1".into(),
        conditions: vec![condition],
        boot_id: format!("boot-{name}"),
        addresses: vec![address.into()],
        ..Node::default()
    }
}

/// Ten nodes; `n0` at 127.0.0.1 is dead, and its record waits for nothing but the power to be cut.
fn cache(clock: Clock) -> Cache {
    let cache = Cache::new(clock, Limits::default());
    let policy = json!({ "metadata": { "name": "p" }, "spec": {
        "when": "conditions.Ready.status != 'True'", "mode": "Enforce", "steps": [{ "powerCycle": { "kdumpWait": format!("{WAIT_SECS}s") } }],
    } });
    cache.apply_policy(&serde_json::from_value(policy).unwrap());
    for number in 0..10 {
        let ready = if number == 0 { ConditionStatus::Unknown } else { ConditionStatus::True };
        cache.apply_node(node(&format!("n{number}"), &format!("127.0.0.{}", number + 1), ready));
    }
    let record = json!({
        "metadata": { "name": "n0", "uid": "f", "resourceVersion": "1" },
        "spec": { "nodeName": "n0", "nodeUID": "uid-n0", "policy": "p",
            "steps": [{ "powerCycle": { "kdumpWait": format!("{WAIT_SECS}s") } }] },
        "status": { "phase": "AwaitGuards", "epoch": 1, "bootID": "boot-n0" },
    });
    cache.apply_fence(serde_json::from_value(record).unwrap());
    cache
}

/// Every node renews but `n0`; its BMC reports On, and is its own.
fn look_around(cache: &Cache, clock: Clock) {
    let now = clock.moment();
    for number in 0..10 {
        let renewed = if number == 0 { 0 } else { i64::try_from(now.0.as_millis()).unwrap() };
        let renewed = Timestamp::from_millisecond(renewed).ok();
        let lease = LeaseView {
            resource_version: String::new(),
            holder: format!("n{number}"),
            renewed,
            duration: Duration::from_secs(40),
            change_seen_at: now,
        };
        cache.apply_lease(LeaseKind::Kubelet, &format!("n{number}"), lease);
    }
    let (names, n0): (BTreeSet<String>, _) = ((0..10).map(|number| format!("n{number}")).collect(), ["n0".to_owned()]);
    cache.listed(Source::Nodes, &names);
    cache.listed(Source::KubeletLeases, &names);
    cache.listed(Source::Fences, &n0.into());
    cache.listed(Source::Policies, &["p".to_owned()].into());
    cache.with(|snapshot| snapshot.epoch = 1);
    cache.gather("n0", |gathered| {
        let level = FenceLevel {
            methods: vec!["ipmi".into()],
            longest: Duration::from_secs(1),
            identity: Some(Ok(())),
            asks_machine: true,
        };
        let plan = FencePlan { levels: vec![level], ..FencePlan::default() };
        gathered.methods = Some(Ok(plan));
        gathered.power = vec![PowerReading { at: now, level: Level::FIRST, asks_machine: true, state: PowerState::On }];
        gathered.pods = Some((now, Vec::new()));
        gathered.attachments = Some((now, Vec::new()));
    });
}

/// What is decided for `n0`, with what it writes into the record stored.
struct Judge {
    cache: Cache,
    clock: Clock,
    memory: Memory,
}

impl Judge {
    fn new(clock: Clock) -> Self {
        Self { cache: cache(clock), clock, memory: Memory::default() }
    }

    /// The other kubelets renew meanwhile.
    fn pass(&self, secs: u64) {
        for passed in (0..secs).step_by(10) {
            pass((secs - passed).min(10));
            look_around(&self.cache, self.clock);
        }
    }

    /// Decides until nothing more is written: the phase of the record, and what blocks it.
    fn settle(&mut self) -> (Phase, Option<String>) {
        look_around(&self.cache, self.clock);
        for _ in 0..10 {
            let memory = std::mem::take(&mut self.memory);
            let decision = self.cache.with(|snapshot| decide(snapshot, memory, self.clock.now()));
            self.memory = decision.memory;
            let saved = decision.actions.into_iter().find_map(|action| match action {
                Action::Save { fence, .. } => Some(*fence),
                Action::Perform { op: Op::Irreversible(IrreversibleOp::PowerOff), .. } => None,
                other => panic!("{other:?}"),
            });
            let Some(saved) = saved else { break };
            self.store(saved);
        }
        self.cache.with(|snapshot| {
            let status = &snapshot.fences["n0"].status;
            (status.phase, status.blocked_by.first().map(|blocker| blocker.reason.clone()))
        })
    }

    fn store(&self, mut fence: NodeFence) {
        let version: u64 = fence.metadata.resource_version.parse().unwrap();
        fence.metadata.resource_version = (version + 1).to_string();
        self.cache.apply_fence(fence);
    }
}

/// A listener that runs beside the test.
struct Hears {
    to: SocketAddr,
    tally: Arc<Tally>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Hears {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn hear(cache: &Cache, clock: Clock) -> Hears {
    let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let (to, tally) = (socket.address().unwrap(), Arc::new(Tally::default()));
    let (mut listener, counts) = (Listener::new(cache.clone(), clock), Arc::clone(&tally));
    let task = tokio::task::spawn(async move { drop(listen(&socket, &mut listener, &counts).await) });
    Hears { to, tally, task }
}

impl Hears {
    /// Waits until so many packets of nodes, of strangers and malformed ones were counted.
    async fn counted(&self, wanted: [u64; 3]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let dumps = self.tally.snapshot().dumps;
            let counted = [dumps.of_nodes, dumps.of_strangers, dumps.malformed];
            if counted == wanted {
                return;
            }
            assert!(Instant::now() < deadline, "counted {counted:?}, wanted {wanted:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// `n0` has a few seconds left to report that it dumps. It is the caller's turn until the guard goes.
async fn about_to_be_cut() -> (MutexGuard<'static, ()>, Judge, Hears) {
    let turn = TURN.lock().await;
    let clock = clock();
    let mut judge = Judge::new(clock);
    let hears = hear(&judge.cache, clock).await;
    judge.settle();
    judge.pass(55);
    (turn, judge, hears)
}

fn send(from: &str, to: SocketAddr, bytes: &[u8]) {
    UdpSocket::bind((from, 0)).unwrap().send_to(bytes, to).unwrap();
}

#[tokio::test]
async fn a_node_that_dumps_keeps_its_power_until_it_is_silent() {
    let (_turn, mut judge, hears) = about_to_be_cut().await;
    send("127.0.0.1", hears.to, &a_message());
    hears.counted([1, 0, 0]).await;
    assert_eq!(judge.settle(), (Phase::KdumpWait, Some("Dumping".into())));
    judge.pass(25);
    assert_eq!(judge.settle().0, Phase::KdumpWait, "three of its messages may be missing");
    judge.pass(6);
    assert_eq!(judge.settle(), (Phase::PoweringOff, None), "it is over");
}

#[tokio::test]
async fn a_node_that_reports_a_dump_for_ever_is_waited_for_once_and_no_longer_than_the_policy_allows() {
    let (_turn, mut judge, hears) = about_to_be_cut().await;
    for count in 1..=6 {
        send("127.0.0.1", hears.to, &a_message());
        hears.counted([count, 0, 0]).await;
        assert_eq!(judge.settle(), (Phase::KdumpWait, Some("Dumping".into())), "after {} s", (count - 1) * 10);
        judge.pass(10);
    }
    judge.pass(1);
    send("127.0.0.1", hears.to, &a_message());
    hears.counted([7, 0, 0]).await;
    assert_eq!(judge.settle(), (Phase::PoweringOff, None), "it had its time");
}

#[tokio::test]
async fn what_is_no_message_of_a_node_delays_nothing_and_is_counted() {
    let (_turn, mut judge, hears) = about_to_be_cut().await;
    let wrong = [
        Vec::new(),
        a_message()[..7].to_vec(),
        [a_message(), vec![0]].concat(),
        message(1, 1),
        message(0x1B30_2A40, 2),
    ];
    for bytes in &wrong {
        send("127.0.0.1", hears.to, bytes);
    }
    send("127.0.0.99", hears.to, &a_message());
    send("127.0.0.2", hears.to, &a_message());
    hears.counted([1, 1, wrong.len() as u64]).await;
    assert_eq!(judge.settle(), (Phase::PoweringOff, None), "only n1 reported that it dumps");
    let shown = metrics::Shown {
        cache: judge.cache.clone(),
        requests: Arc::default(),
        tally: Arc::clone(&hears.tally),
        clock: Clock::system(clock::slept),
        dry_run: false,
        node_reaper: false,
        cluster: None,
    };
    for (of, count) in [("node", 1), ("stranger", 1), ("malformed", 5)] {
        let line = format!("nodewell_controller_kdump_packets_total{{of=\"{of}\"}} {count}\n");
        assert!(metrics::text(&shown).contains(&line), "{line}");
    }
}

#[tokio::test]
async fn a_flood_leaves_other_nodes_their_turn_and_the_next_message_is_heard() {
    let _turn = TURN.lock().await;
    let clock = clock();
    let judge = Judge::new(clock);
    let hears = hear(&judge.cache, clock).await;
    let to = hears.to;
    let flood = tokio::task::spawn_blocking(move || {
        let sender = UdpSocket::bind("127.0.0.98:0").unwrap();
        // The kernel drops what is not read in time; a full buffer of the sender is no failure of the test.
        (0..200_000).for_each(|_| drop(sender.send_to(&a_message(), to)));
    });
    let mut turns = 0_u64;
    while !flood.is_finished() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        turns += 1;
    }
    assert!(turns > 5, "{turns} turns");
    let deadline = Instant::now() + PATIENCE;
    while hears.tally.snapshot().dumps.of_nodes == 0 {
        assert!(Instant::now() < deadline, "{:?}", hears.tally.snapshot().dumps);
        send("127.0.0.1", hears.to, &a_message());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(hears.tally.snapshot().dumps.of_strangers > 0);
}

#[tokio::test]
async fn the_sender_of_the_distributions_is_understood() {
    if !Path::new(SENDER).exists() {
        eprintln!("SKIP the_sender_of_the_distributions_is_understood: needs {SENDER} (package fence-agents)");
        return;
    }
    let (_turn, mut judge, hears) = about_to_be_cut().await;
    let (port, address) = (hears.to.port().to_string(), hears.to.ip().to_string());
    let sent = tokio::task::spawn_blocking(move || {
        Command::new(SENDER).args(["-p", &port, "-f", "ipv4", "-c", "1", &address]).output().unwrap()
    });
    let sent = sent.await.unwrap();
    assert!(sent.status.success(), "{sent:?}");
    hears.counted([1, 0, 0]).await;
    assert_eq!(judge.settle(), (Phase::KdumpWait, Some("Dumping".into())));
}
