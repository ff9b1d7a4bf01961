//! Whole rounds of one host: nodes that answer or do not, and other hosts behind the API server.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;
use nodewell_remediation::{
    api::{Meta, fence::NodeFence},
    facts::LeaseView,
};
use tokio::time::{sleep, timeout};

use super::*;
use crate::cache::Limits;

/// What one host reports of a node.
type Seen = BTreeMap<String, Option<Moment>>;

/// Nodes and hosts, as this one meets them.
struct Room {
    cache: Cache,
    clock: Clock,
    /// Nodes that do not answer.
    lost: RefCell<BTreeSet<String>>,
    /// The API server refuses our reports.
    refuses: Cell<bool>,
    written: RefCell<Vec<ReachReport>>,
    asked: Cell<usize>,
}

impl Prober for Room {
    async fn reaches(&self, node: &Node) -> bool {
        !self.lost.borrow().contains(&node.name)
    }
}

impl Hosts for Room {
    async fn reach_reports(&self) -> Result<Vec<ReachReport>, ApiError> {
        self.asked.set(self.asked.get() + 1);
        Ok(Vec::new())
    }

    async fn report_reach(&self, report: &ReachReport) -> Result<(), ApiError> {
        if self.refuses.get() {
            return Err(ApiError::NoAnswer("down".into()));
        }
        self.written.borrow_mut().push(report.clone());
        Ok(())
    }
}

impl Room {
    /// Five nodes, the first of which is suspected: its Lease was not renewed for 11 s. It does not answer.
    async fn one_is_lost() -> Self {
        let clock = Clock::counted(Timestamp::constant(1_800_000_000, 0));
        let room = Self {
            cache: Cache::new(clock, Limits::default()),
            clock,
            lost: RefCell::new(["n0".to_owned()].into()),
            refuses: Cell::default(),
            written: RefCell::default(),
            asked: Cell::default(),
        };
        sleep(Duration::from_secs(60)).await;
        room.is_heard(1..5);
        room.cache.with(|snapshot| snapshot.kubelet_leases.insert("n0".into(), lease(49)));
        room
    }

    /// Their kubelets renew their Leases now.
    fn is_heard(&self, numbers: std::ops::Range<usize>) {
        let now = self.clock.moment();
        self.cache.with(|snapshot| {
            for name in (0..5).map(|number| format!("n{number}")) {
                snapshot.nodes.entry(name.clone()).or_insert_with(|| Node { name, ..Node::default() });
            }
            for name in numbers.map(|number| format!("n{number}")) {
                snapshot.kubelet_leases.insert(name, lease(now.0.as_secs()));
            }
        });
    }

    fn neighbours(&self, dry_run: bool) -> Neighbours<'_, Self, Self> {
        let host = "me".to_owned();
        Neighbours { cluster: self, prober: self, cache: &self.cache, clock: self.clock, host, dry_run }
    }

    async fn round(&self, reach: &mut Reach) {
        self.neighbours(false).round(reach).await;
    }

    fn seen(&self, node: &str) -> Seen {
        self.cache
            .with(|snapshot| snapshot.gathered.get(node).map(|gathered| gathered.reach.clone()).unwrap_or_default())
    }
}

fn lease(seen: u64) -> LeaseView {
    let (resource_version, holder) = (String::new(), String::new());
    let duration = Duration::from_secs(40);
    LeaseView { resource_version, holder, renewed: None, duration, change_seen_at: at(seen) }
}

#[tokio::test(start_paused = true)]
async fn what_looks_lost_is_tried_and_what_was_found_is_shown_and_reported() {
    let (room, mut reach) = (Room::one_is_lost().await, Reach::default());
    room.round(&mut reach).await;
    assert_eq!(room.seen("n0"), Seen::from([("me".into(), Some(at(60)))]));
    assert_eq!(room.seen("n1"), Seen::new(), "it is not suspected");
    assert_eq!(room.cache.with(|snapshot| snapshot.host.reachable_nodes), Some((4, 4)));
    sleep(Duration::from_secs(4)).await;
    room.is_heard(1..5);
    room.round(&mut reach).await;
    let written = room.written.borrow().clone();
    let expected = |sequence, secs| ReachReport {
        host: "me".into(),
        sequence,
        nodes: BTreeMap::from([("n0".into(), Some(secs))]),
    };
    assert_eq!(written, [expected(1, 0), expected(2, 4)]);
}

#[tokio::test(start_paused = true)]
async fn a_node_under_remediation_is_tried_although_it_speaks() {
    let (room, mut reach) = (Room::one_is_lost().await, Reach::default());
    room.cache.with(|snapshot| {
        let metadata = Meta { name: "n1".into(), ..Meta::default() };
        let fence = NodeFence { metadata, spec: Default::default(), status: Default::default() };
        snapshot.fences.insert("n1".into(), fence);
    });
    room.round(&mut reach).await;
    assert_eq!(room.seen("n1"), Seen::from([("me".into(), None)]), "it answers, which is known of it now");
    assert_eq!(room.cache.with(|snapshot| snapshot.host.reachable_nodes), Some((3, 3)), "the others are the sample");
}

/// What it cannot reach shows nothing of the node then, here and at others.
#[tokio::test(start_paused = true)]
async fn a_host_that_reaches_too_little_is_no_witness() {
    let changes: [fn(&Room); 2] = [
        |room| room.lost.borrow_mut().extend(["n1", "n2", "n3"].map(str::to_owned)),
        |room| room.cache.set_host(|host| host.unreachable = vec!["10.0.0.1:22".into()]),
    ];
    for change in changes {
        let (room, mut reach) = (Room::one_is_lost().await, Reach::default());
        change(&room);
        room.round(&mut reach).await;
        assert_eq!(room.seen("n0"), Seen::new());
        assert!(room.written.borrow().iter().all(|report| report.nodes.is_empty()), "{:?}", room.written);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_suspected_no_more_is_reported_once_and_shown_no_more() {
    let (room, mut reach) = (Room::one_is_lost().await, Reach::default());
    room.round(&mut reach).await;
    assert_eq!(room.asked.get(), 1);
    room.is_heard(0..5);
    for _ in 0..3 {
        room.round(&mut reach).await;
        assert_eq!(room.seen("n0"), Seen::new());
    }
    let written: Vec<usize> = room.written.borrow().iter().map(|report| report.nodes.len()).collect();
    assert_eq!((written, room.asked.get()), (vec![1, 0], 2), "no host is asked while no node is suspected");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_listens_and_reports_nothing() {
    let (room, mut reach) = (Room::one_is_lost().await, Reach::default());
    room.neighbours(true).round(&mut reach).await;
    assert_eq!((room.written.borrow().len(), room.asked.get()), (0, 1));
    assert_eq!(room.seen("n0").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_is_known_whether_the_others_hear_of_it() {
    let (room, mut reach) = (Room::one_is_lost().await, Reach::default());
    for refuses in [true, false] {
        room.refuses.set(refuses);
        room.round(&mut reach).await;
        assert_eq!(reach.unheard, refuses);
    }
}

#[tokio::test(start_paused = true)]
async fn there_is_a_round_every_two_seconds_for_ever() {
    let room = Room::one_is_lost().await;
    timeout(Duration::from_secs(5), room.neighbours(false).run()).await.expect_err("it never returns");
    let sequences: Vec<u64> = room.written.borrow().iter().map(|report| report.sequence).collect();
    assert_eq!(sequences, [1, 2, 3], "at 0, 2 and 4 s");
}
