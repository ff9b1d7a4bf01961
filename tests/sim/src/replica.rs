//! A replica of the controller: started, stopped for a while, killed, started again; and the watches that inform it.

use std::{
    collections::BTreeSet,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use nodewell_reconcile::{
    clock::Clock,
    cluster::LeaseKind,
    conduct::Settings,
    leader::Terms,
    serve::Replica,
    world::{Limits, Source, World},
};
use nodewell_remedy::facts::Truth;
use tokio::time::{Sleep, sleep};

use crate::{
    api::SimCluster,
    bmc::SimPower,
    scene::Mutation,
    truth::{Change, Shared},
};

/// The node that [`Mutation::SeesDead`] takes for dead.
pub const UNSEEN: &str = "n-0004";

/// Runs for ever: each life ends with a crash.
pub async fn lives(truth: Shared, number: usize, clock: Clock) {
    for life in 0.. {
        let died = truth.borrow().replicas[number].dead.clone();
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
    let world = World::new(clock, Limits::default());
    let cluster = SimCluster { truth: truth.clone(), replica: number };
    let power = SimPower { truth: truth.clone(), replica: number };
    let policy = truth.borrow().scene.policy();
    let dry_run = truth.borrow().scene.dry_run;
    world.apply_policy(&policy);
    let replica = Replica {
        cluster: &cluster,
        power: &power,
        prober: &power,
        world: &world,
        clock,
        settings: Settings { dry_run, ..Settings::default() },
        terms: Terms::new(format!("replica-{number}-{life}")),
        host: format!("replica-{number}"),
    };
    tokio::select! {
        biased;
        () = watch(&truth, number, &world) => {}
        () = replica.run(std::future::pending()) => {}
    }
}

/// A list, and then every change in its order, a little late.
async fn watch(truth: &Shared, number: usize, world: &World) {
    let mut cursor = begin(truth, world);
    loop {
        sleep(Duration::from_millis(200)).await;
        let lag = truth.borrow_mut().random.millis(20, 400);
        let truth = truth.borrow();
        let now = truth.now();
        let cut = [truth.replicas[number].deaf, truth.replicas[number].cut, truth.store.down];
        if cut.iter().any(|until| *until > now) {
            continue;
        }
        while let Some((at, change)) = truth.store.changes.get(cursor) {
            if at.plus(lag) > now {
                break;
            }
            apply(world, change, truth.scene.mutation);
            cursor += 1;
        }
        for source in [Source::Nodes, Source::Fences, Source::Policies] {
            world.heard(source);
        }
    }
}

fn begin(truth: &Shared, world: &World) -> usize {
    let truth = truth.borrow();
    for change in truth.list() {
        apply(world, &change, truth.scene.mutation);
    }
    let names: BTreeSet<String> = truth.store.nodes.keys().cloned().collect();
    let fences = truth.store.fences.keys().cloned().collect();
    for source in [Source::Nodes, Source::KubeletLeases, Source::AgentLeases] {
        world.listed(source, &names);
    }
    world.listed(Source::Fences, &fences);
    world.listed(Source::Policies, &BTreeSet::from(["lost".to_owned()]));
    truth.store.changes.len()
}

fn apply(world: &World, change: &Change, mutation: Mutation) {
    match change {
        Change::Node(node) if mutation == Mutation::SeesDead && node.name == UNSEEN => {
            let mut node = (**node).clone();
            node.conditions.iter_mut().for_each(|condition| condition.status = Truth::Unknown);
            world.apply_node(node);
        }
        Change::Node(node) => world.apply_node((**node).clone()),
        Change::NodeGone(name) => {
            world.remove_node(name);
            world.remove_lease(LeaseKind::Kubelet, name);
        }
        Change::Lease(name, _) if mutation == Mutation::SeesDead && name == UNSEEN && knows(world, name) => {}
        Change::Lease(name, lease) => world.apply_lease(LeaseKind::Kubelet, name, lease.clone()),
        Change::Fence(fence) => world.apply_fence((**fence).clone()),
        Change::FenceGone(name, uid) => world.remove_fence(name, uid),
        Change::Stopped(stopped) => {
            let seen = *stopped && mutation != Mutation::DeafToStop;
            world.set_stopped(seen.then(|| "a person said so".to_owned()));
        }
    }
}

fn knows(world: &World, name: &str) -> bool {
    world.with(|snapshot| snapshot.kubelet_leases.contains_key(name))
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
