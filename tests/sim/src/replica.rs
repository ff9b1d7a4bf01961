//! A replica of the controller: started, stopped for a while, killed, started again; and the watches that inform it.

mod lists;

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use jiff::SignedDuration;
use nodewell_reconcile::{
    cache::{Cache, Limits, Source},
    clock::Clock,
    cluster::LeaseKind,
    executor::Settings,
    leader::Terms,
    serve::Replica,
};
use nodewell_remediation::{
    api::policy::Mode,
    facts::{ConditionStatus, LeaseView},
    policy::Policy as Compiled,
    snapshot::Quorum,
    time::Moment,
};
use tokio::time::{Sleep, sleep};

use self::lists::{Lineage, begin, hang, is_relist_wanted, relist, relist_leases};
use crate::{
    api::SimCluster,
    bmc::SimPower,
    oracle::monotone,
    scenario::{Mutation, POLICY, Theme},
    truth::{Change, Policy, Shared},
};

/// The node that [`Mutation::SeesDead`] takes for dead.
pub const UNSEEN: &str = "n-0004";

/// Runs for ever: each life ends with a crash.
pub async fn lives(truth: Shared, number: usize, clock: Clock) {
    for life in 0.. {
        let died = truth.borrow().replicas[number].dead.clone();
        truth.borrow_mut().replicas[number].life = life;
        truth.borrow_mut().replicas[number].announced.clear();
        truth.borrow_mut().note(format!("replica {number}: starts"));
        let started = start(truth.clone(), number, life, clock);
        let freezable = Freezable { inner: Box::pin(started), truth: truth.clone(), number, thaw: None };
        tokio::select! {
            biased;
            () = died.notified() => {}
            () = freezable => {}
        }
        truth.borrow_mut().note(format!("replica {number}: is gone"));
        let pause = truth.borrow_mut().random.secs(1, 15);
        sleep(pause).await;
    }
}

async fn start(truth: Shared, number: usize, life: u32, clock: Clock) {
    let cache = Cache::new(clock, Limits::default());
    let cluster = SimCluster { truth: truth.clone(), replica: number };
    let power = SimPower { truth: truth.clone(), replica: number };
    let scenario = truth.borrow().scenario.clone();
    let dry_run = scenario.dry_run && scenario.mutation != Mutation::WritesInDryRun;
    let settings = Settings { dry_run, decide: monotone::judged, ..Settings::default() };
    cache.set_host(|host| host.node = truth.borrow().host_of(number));
    let replica = Replica {
        cluster: &cluster,
        power: &power,
        prober: &power,
        cache: &cache,
        clock,
        settings,
        terms: Terms::new(format!("replica-{number}-{life}")),
        host: format!("replica-{number}"),
    };
    tokio::select! {
        biased;
        () = remember_epochs(&truth, number, &cache) => {}
        () = watch(&truth, number, &cache, clock) => {}
        () = ask_etcd(&truth, number, &cache) => {}
        () = replica.run(std::future::pending()) => {}
    }
}

/// Asks every member how it is, every 10 s, as the controller does.
async fn ask_etcd(truth: &Shared, number: usize, cache: &Cache) {
    loop {
        let total = truth.borrow().scenario.control_planes;
        let blind = truth.borrow().scenario.mutation == Mutation::BlindToQuorum;
        let (now, cut) = (truth.borrow().now(), truth.borrow().must_stay_cut_off(number));
        let healthy = if blind { total } else { truth.borrow().members(now).len() };
        cache.set_etcd(if cut { Quorum::Unknown } else { Quorum::Members { healthy, total } }, BTreeMap::new());
        let themed = truth.borrow().scenario.theme == Theme::ControlPlane;
        sleep(if themed { Duration::from_secs(10) } else { Duration::from_secs(3600) }).await;
    }
}

/// A list, and then every change in its order, a little late.
async fn watch(truth: &Shared, number: usize, cache: &Cache, clock: Clock) {
    let to = Target { cache, clock };
    let mut cursor = begin(truth, number, to);
    let mut store = Lineage::of(truth);
    let mut is_broken = false;
    loop {
        sleep(Duration::from_millis(200)).await;
        let lag = truth.borrow_mut().random.millis(20, 400);
        let now = truth.borrow().now();
        if truth.borrow().must_stay_cut_off(number) && truth.borrow().scenario.breaks_watches {
            cache.lost(Source::KubeletLeases);
            is_broken = true;
        }
        if truth.borrow().replicas[number].deaf > now || truth.borrow().must_stay_cut_off(number) {
            continue;
        }
        if std::mem::take(&mut is_broken) {
            relist_leases(truth, number, to).await;
        }
        if store.is_another(truth) {
            hang(truth, cache).await;
            store = Lineage::of(truth);
            cursor = relist(truth, number, to).await;
        } else if is_relist_wanted(cache).await {
            // The Lease, or a single read, showed it after all was listed.
            cursor = relist(truth, number, to).await;
        }
        let mut batch = Vec::new();
        while let Some((at, change)) = truth.borrow().store.changes.get(cursor) {
            if at.plus(lag) > now {
                break;
            }
            batch.push(change.clone());
            cursor += 1;
        }
        let mutation = truth.borrow().scenario.mutation;
        batch.iter().for_each(|change| apply(to, change, mutation));
        for source in [Source::Nodes, Source::Fences, Source::Policies] {
            cache.heard(source);
        }
        batch.iter().for_each(|change| know(truth, number, change));
        truth.borrow_mut().replicas[number].synced = Moment(now.0.saturating_sub(lag));
    }
}

/// In the state directory, which no restore of etcd takes back.
async fn remember_epochs(truth: &Shared, number: usize, cache: &Cache) {
    cache.saw_epoch(truth.borrow().replicas[number].epoch_file);
    let mut epochs = cache.epochs();
    while epochs.changed().await.is_ok() {
        truth.borrow_mut().replicas[number].epoch_file = *epochs.borrow();
    }
}

/// What a replica has seen of the policy, and of reboots, binds it.
pub(crate) fn know(truth: &Shared, number: usize, change: &Change) {
    let mut truth = truth.borrow_mut();
    truth.knows_of_reboots(number, change);
    let Change::Policy(policy) = change else { return };
    let now = truth.now();
    let mode = match policy {
        Policy::Parsed(policy) if Compiled::compile(policy).is_ok() => Some(policy.spec.mode),
        _ => None,
    };
    let seen = &mut truth.replicas[number];
    let forbids = !matches!(mode, Some(Mode::Enforce | Mode::Paused));
    seen.warned = forbids.then(|| seen.warned.unwrap_or(now));
    seen.paused = (mode == Some(Mode::Paused)).then(|| seen.paused.unwrap_or(now));
}

/// Where a change goes, and the clock by which its replica judges.
#[derive(Clone, Copy)]
pub(crate) struct Target<'c> {
    cache: &'c Cache,
    clock: Clock,
}

pub(crate) fn apply(to: Target<'_>, change: &Change, mutation: Mutation) {
    let Target { cache, clock } = to;
    match change {
        Change::Node(node) if mutation == Mutation::SeesDead && node.name == UNSEEN => {
            let mut node = (**node).clone();
            node.conditions.iter_mut().for_each(|condition| condition.status = ConditionStatus::Unknown);
            cache.apply_node(node);
        }
        Change::Node(node) => cache.apply_node((**node).clone()),
        Change::NodeGone(name) => {
            cache.remove_node(name);
            cache.remove_lease(LeaseKind::Kubelet, name);
        }
        Change::Lease(name, _) if mutation == Mutation::SeesDead && name == UNSEEN && knows(cache, name) => {}
        Change::Lease(name, lease) if mutation == Mutation::JudgesByWallClock && is_old(lease, clock) => {
            if !knows(cache, name) {
                cache.apply_lease(LeaseKind::Kubelet, name, lease.clone());
            }
        }
        Change::Lease(name, lease) => {
            cache.apply_lease(LeaseKind::Kubelet, name, lease.clone());
            cache.heard(Source::KubeletLeases);
        }
        Change::Shutdown(name, boot) => cache.announce_shutdown(name, boot),
        Change::Fence(fence) => cache.apply_fence((**fence).clone()),
        Change::FenceGone(name, uid) => cache.remove_fence(name, uid),
        Change::Policy(policy) => apply_policy(cache, policy, mutation),
        Change::Second(policy) => cache.apply_policy(policy),
        Change::Stopped(stopped) => {
            let seen = *stopped && mutation != Mutation::DeafToStop;
            cache.set_stopped(seen.then(|| "a person said so".to_owned()));
        }
    }
}

fn apply_policy(cache: &Cache, policy: &Policy, mutation: Mutation) {
    let keeps = mutation == Mutation::TakesBrokenPolicy;
    match policy {
        Policy::Parsed(policy) if keeps && Compiled::compile(policy).is_err() => {}
        Policy::Parsed(policy) => cache.apply_policy(policy),
        Policy::Garbled | Policy::Gone if keeps => {}
        Policy::Garbled => cache.apply_unreadable_policy(POLICY, "it is garbled".into()),
        Policy::Gone => cache.remove_policy(POLICY),
    }
}

/// By the wall clock, which no replica may ask.
fn is_old(lease: &LeaseView, clock: Clock) -> bool {
    lease.renewed.is_some_and(|renewed| clock.wall().duration_since(renewed) > SignedDuration::from_secs(40))
}

fn knows(cache: &Cache, name: &str) -> bool {
    cache.with(|snapshot| snapshot.kubelet_leases.contains_key(name))
}

/// A process that can be stopped: nothing of it runs until it goes on, and the clocks do.
struct Freezable<F> {
    inner: Pin<Box<F>>,
    truth: Shared,
    number: usize,
    thaw: Option<Pin<Box<Sleep>>>,
}

impl<F: Future<Output = ()>> Future for Freezable<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let rest = {
                let truth = self.truth.borrow();
                truth.replicas[self.number].frozen.since(truth.now())
            };
            if rest.is_zero() {
                self.thaw = None;
                return self.inner.as_mut().poll(context);
            }
            let thaw = self.thaw.get_or_insert_with(|| Box::pin(sleep(rest)));
            if thaw.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.thaw = None;
        }
    }
}
