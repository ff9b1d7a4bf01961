//! Random walks: machines die and come back, steps fail, leaders crash, and no law is broken.

use std::time::Duration;

use proptest::prelude::*;

use super::{
    laws::{Laws, rank},
    parts::{plan, policy, span, steps},
    world::World,
};
use crate::{
    action::{Action, Failed, Op, Outcome},
    api::{
        RETRY,
        fence::{Blocker, Phase},
    },
    fence::{Next, Wanted, absorb},
    snapshot::FencePlan,
    time::Moment,
};

const STEPS: u32 = 400;

const STEP_LISTS: [&[&str]; 7] = [
    &["cordon", "power"],
    &["taint", "cordon", "drain", "reboot"],
    &["taint", "power"],
    &["cordon", "drain", "power", "reap"],
    &["drain", "reap"],
    &["power"],
    &["taint", "cordon"],
];

/// splitmix64: the walk is one number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

fn walk(seed: u64) -> (World, Laws) {
    let mut dice = Dice(seed);
    let mut world = World::new(steps(STEP_LISTS[dice.roll(7) as usize]));
    if dice.one_in(3) {
        world.fence.spec.steps[0].then_wait = span("20s");
    }
    for step in world.fence.spec.steps.iter_mut().filter_map(|step| step.power_cycle.as_mut()) {
        step.kdump_wait = span("40s");
        step.leave_off = dice.one_in(6);
    }
    world.lies = dice.one_in(8);
    let mut laws = Laws { meddled: world.lies || dice.one_in(4), ..Laws::default() };
    for _ in 0..STEPS {
        happen(&mut world, &mut dice, &laws);
        if dice.one_in(4) {
            monotone(&world);
        }
        if !go_on(&mut world, &mut dice, &mut laws) {
            open_another(&mut world);
        }
    }
    (world, laws)
}

/// The record is gone; the machine is as it was left.
fn open_another(world: &mut World) {
    let fresh = World::new(world.fence.spec.steps.clone());
    world.fence = fresh.fence;
    world.node = world.node.take().or(fresh.node);
    world.entered = world.now.moment;
    world.wanted = Wanted::Yes;
}

/// What the world does by itself.
fn happen(world: &mut World, dice: &mut Dice, laws: &Laws) {
    world.pass(Duration::from_millis(500 + 1000 * dice.roll(12)));
    match dice.roll(60) {
        0..4 => world.alive = false,
        4 => world.alive = true,
        5 => world.wanted = Wanted::No { since: world.now.moment },
        6..10 => world.wanted = Wanted::Yes,
        10 => world.wanted = Wanted::Unknown,
        11 => world.permits.power = vec![Blocker::new("BudgetZone", "")],
        12 if dice.one_in(6) => world.permits.power = vec![Blocker::new("RestartLimit", "")],
        13 => world.permits.isolate = vec![Blocker::new("KillSwitch", "")],
        14..18 => world.permits = Default::default(),
        18 => world.policy = None,
        19..22 => world.policy = Some(policy()),
        22 => world.gathered.methods = Some(Err(Blocker::new("NoMethods", "no ConfigMap"))),
        23..26 => world.gathered.methods = Some(Ok(FencePlan { isolation: vec!["port".into()], ..plan() })),
        26 if dice.one_in(20) => world.fence.spec.abort = true,
        27 if dice.one_in(30) => world.node = None,
        28 if laws.meddled => world.turn(dice.one_in(2)),
        29 => another_leads(world, dice),
        30 => reached_by_no_host(world),
        31 => world.gathered.reach.clear(),
        32 | 40 => world.gathered.dumping = Some(world.now.moment),
        33 => world.gathered.pods = None,
        34 => world.gathered.power.clear(),
        35..40 if world.phase() == Phase::Quarantined => retry(world),
        _ => {}
    }
}

fn retry(world: &mut World) {
    let word = format!("{:?}", world.now.wall);
    world.fence.metadata.annotations.insert(RETRY.into(), word);
}

fn reached_by_no_host(world: &mut World) {
    let since = Moment(world.now.moment.0.saturating_sub(Duration::from_secs(6)));
    world.gathered.reach = [("cp-1", since), ("cp-2", since)].map(|(host, at)| (host.into(), Some(at))).into();
}

/// One round of the loop; false when the record is closed.
fn go_on(world: &mut World, dice: &mut Dice, laws: &mut Laws) -> bool {
    match world.next() {
        Next::Act(Action::Save { fence, .. }) if !dice.one_in(20) => {
            laws.written(&world.fence, &fence);
            world.store(*fence);
        }
        Next::Act(Action::Perform { op, .. }) => perform(world, dice, laws, &op),
        Next::Act(Action::Close { .. }) => {
            laws.closed(world);
            return false;
        }
        _ => {}
    }
    true
}

fn perform(world: &mut World, dice: &mut Dice, laws: &mut Laws, op: &Op) {
    laws.step(world, op);
    let outcome = outcome(world, dice, op);
    if dice.one_in(8) {
        laws.ended(op, None);
        return crash(world, dice);
    }
    laws.ended(op, Some(&outcome));
    let (after, _) = absorb(&world.fence, op, &outcome, world.epoch, world.now);
    laws.written(&world.fence, &after);
    world.store(after);
}

fn outcome(world: &mut World, dice: &mut Dice, op: &Op) -> Outcome {
    match dice.roll(16) {
        0 => Err(Failed::NotBegun("lease".into())),
        1 => Err(Failed::Refused("no".into())),
        2 => Err(Failed::Timeout(Duration::from_secs(20))),
        3 => {
            let _ = world.perform(op);
            Err(Failed::InDoubt("cut".into()))
        }
        _ => world.perform(op),
    }
}

/// The outcome is lost: another leader, or this one after its intent has grown old.
fn crash(world: &mut World, dice: &mut Dice) {
    if dice.one_in(2) {
        another_leads(world, dice);
        world.entered = world.now.moment;
    } else {
        world.pass(Duration::from_secs(11));
    }
}

/// Its clock is another one, up to ten minutes before or behind.
fn another_leads(world: &mut World, dice: &mut Dice) {
    world.epoch += 1;
    world.now.wall += Duration::from_secs(dice.roll(1200));
    world.now.wall -= Duration::from_secs(600);
}

/// What cannot be read never makes it bolder. A dump is a message that mostly is not sent: its absence proves nothing.
fn monotone(world: &World) {
    let bold = rank(&world.fence, &world.next());
    for (name, blank) in BLANKS {
        let mut blind = world.clone();
        blank(&mut blind);
        let next = blind.next();
        assert!(rank(&world.fence, &next) <= bold, "without {name} in {:?}: {next:?}", world.phase());
    }
}

type Blank = (&'static str, fn(&mut World));

const BLANKS: [Blank; 9] = [
    ("pods", |world| world.gathered.pods = None),
    ("attachments", |world| world.gathered.attachments = None),
    ("methods", |world| world.gathered.methods = None),
    ("reach", |world| world.gathered.reach.clear()),
    ("the BMC's words", |world| {
        if !matches!(world.phase(), Phase::OffConfirmed | Phase::PodsReleased | Phase::PoweringOn) {
            world.gathered.power.clear();
        }
    }),
    ("the Node", |world| world.node = None),
    ("the kubelet's Lease", |world| world.kubelet = None),
    ("the policy", |world| world.policy = None),
    ("a judgement", |world| world.wanted = Wanted::Unknown),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_walk_breaks_a_law(seed in any::<u64>()) {
        let _ = walk(seed);
    }
}

#[test]
fn walks_come_far() {
    let walks: Vec<(World, Laws)> = (0..100).map(walk).collect();
    let count = |wanted: fn(&(World, Laws)) -> bool| walks.iter().filter(|walk| wanted(walk)).count();
    let steps: u32 = walks.iter().map(|(_, laws)| laws.steps).sum();
    assert!(count(|(_, laws)| laws.ends > 0) > 20, "hardly any record is closed");
    assert!(count(|(world, _)| world.fence.status.released > 0) > 10, "hardly any pod is released");
    assert!(count(|(world, _)| world.boots > 1) > 20, "hardly any node is booted");
    assert!(steps > 2_000, "only {steps} steps were taken");
}
