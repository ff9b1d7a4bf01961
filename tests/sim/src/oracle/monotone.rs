//! I10 and I16 beside real decisions: the same decision is asked for again with something missing or unreadable, and
//! must not be harsher. A story is alone on its thread, so what the decisions need is stored per thread.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    action::{Action, IrreversibleOp, Op, ReversibleOp},
    api::{
        fence::{Blocker, NodeFence, Phase},
        policy::Mode,
    },
    decide::{Decision, Memory, ORPHANED, decide},
    facts::{ConditionStatus, LeaseView},
    snapshot::{Quorum, Snapshot},
    time::{Moment, Now},
};

use super::heirs::gives_way;
use crate::{
    random::Random,
    scenario::{Kind, Mutation, SECOND, Scenario},
};

/// So many decisions are asked again, of a thousand in which anything is under way; more where this is what is tried.
const RATE: u64 = 40;
const TRIED: u64 = 500;

struct Judge {
    mutation: Mutation,
    rate: u64,
    random: Random,
    found: Vec<(&'static str, String)>,
    asked: u64,
}

thread_local! {
    static JUDGE: RefCell<Option<Judge>> = const { RefCell::new(None) };
}

/// A story begins on this thread.
pub fn begin(scenario: &Scenario) {
    let rate = match scenario.judged {
        _ if scenario.kind == Kind::Large => 0,
        Some("I10") => TRIED,
        _ => RATE,
    };
    let random = Random::new(scenario.seed ^ 0x1010);
    let judge = Judge { mutation: scenario.mutation, rate, random, found: Vec::new(), asked: 0 };
    JUDGE.with(|slot| *slot.borrow_mut() = Some(judge));
}

/// What was found since it was asked last.
pub fn found() -> Vec<(&'static str, String)> {
    JUDGE.with(|judge| judge.borrow_mut().as_mut().map(|judge| std::mem::take(&mut judge.found)).unwrap_or_default())
}

/// How many decisions were asked again in this story.
#[must_use]
pub fn asked() -> u64 {
    JUDGE.with(|judge| judge.borrow().as_ref().map_or(0, |judge| judge.asked))
}

/// The real decision; with a mutation, that one broken.
pub fn judged(snapshot: &Snapshot, memory: Memory, now: Now) -> Decision {
    JUDGE.with(|judge| {
        let mut judge = judge.borrow_mut();
        let Some(judge) = judge.as_mut() else { return decide(snapshot, memory, now) };
        let concerned = !snapshot.fences.is_empty() || snapshot.nodes.values().any(|node| !node.is_ready());
        if concerned && judge.random.chance(judge.rate) {
            judge.ask_again(snapshot, &memory, now);
        }
        broken(judge.mutation, snapshot, memory, now)
    })
}

impl Judge {
    fn ask_again(&mut self, snapshot: &Snapshot, memory: &Memory, now: Now) {
        self.asked += 1;
        let harshness = harshness_of(&broken(self.mutation, snapshot, memory.clone(), now), snapshot);
        let names: Vec<&String> = snapshot.nodes.keys().collect();
        let Some(name) = names.get(usize::try_from(self.random.below(names.len() as u64)).unwrap_or(0)) else { return };
        let troubled = snapshot.fences.keys().next().filter(|_| self.random.chance(700));
        let name = troubled.unwrap_or(name).clone();
        let mut poorer = snapshot.clone();
        let invariant = self.impoverish(&mut poorer, &name);
        let after = harshness_of(&broken(self.mutation, &poorer, memory.clone(), now), snapshot);
        // What is missing of one node says nothing of the others; what is missing of the whole concerns all.
        let concerned = |other: &&String| invariant == "I16" || **other == name;
        let harsher =
            after.iter().find(|(other, harsh)| concerned(other) && *harsh > harshness.get(*other).unwrap_or(&0));
        if let Some((other, harsh)) = harsher {
            let was = harshness.get(other).copied().unwrap_or(0);
            self.found.push((invariant, format!("{other}: {was} became {harsh} when less of {name} was known")));
        }
    }

    /// Takes something away, and returns which invariant covers that.
    fn impoverish(&mut self, snapshot: &mut Snapshot, name: &str) -> &'static str {
        let gathered = snapshot.gathered.entry(name.to_owned()).or_default();
        match self.random.below(15) {
            0 => drop(snapshot.kubelet_leases.remove(name)),
            1 => gathered.power.clear(),
            2 => gathered.methods = None,
            3 => gathered.methods = Some(Err(Blocker::new("FenceNotReady", "made up"))),
            4 => gathered.pods = None,
            5 => gathered.attachments = None,
            6 => gathered.reach.clear(),
            7 => *gathered = Default::default(),
            8 => drop(snapshot.nodes.remove(name)),
            9 => snapshot.nodes.values_mut().filter(|node| node.name == name).for_each(|node| node.conditions.clear()),
            10 => snapshot.etcd = Quorum::Unknown,
            11 => snapshot.host.synced = false,
            kind => {
                self.spoil(snapshot, kind);
                return "I16";
            }
        }
        "I10"
    }

    fn spoil(&mut self, snapshot: &mut Snapshot, kind: u64) {
        match kind {
            12 => snapshot.policies.iter_mut().for_each(|policy| policy.mode = Mode::Observe),
            13 => snapshot.policies.clear(),
            _ => {
                let names = std::mem::take(&mut snapshot.policies).into_iter().map(|policy| (policy.name, "?".into()));
                snapshot.unreadable_policies.extend(names);
            }
        }
    }
}

/// How harsh what is done to each node is: 0 nothing or taking back, 1 a mark, 2 a drain, 3 power, pods, a provider.
fn harshness_of(decision: &Decision, snapshot: &Snapshot) -> BTreeMap<String, u8> {
    decision.actions.iter().map(|action| (action.node().to_owned(), harshness(action, snapshot))).collect()
}

fn harshness(action: &Action, snapshot: &Snapshot) -> u8 {
    match action {
        // A record that only takes back is opened where a policy wants nothing. Of a node that is not known to be dead the
        // policy that only isolates has the say.
        Action::Open(fence) => u8::from(fence.spec.cause != ORPHANED && fence.spec.policy != SECOND),
        Action::Save { fence, .. } => intended(fence, snapshot),
        Action::Perform { fence, op } => match op {
            Op::Reversible(ReversibleOp::Taint(_)) | Op::Reversible(ReversibleOp::Cordon) => {
                u8::from(fence.spec.policy != SECOND)
            }
            Op::Reversible(ReversibleOp::Drain(_)) => 2,
            Op::Irreversible(IrreversibleOp::PowerOff)
            | Op::Irreversible(IrreversibleOp::Release { .. })
            | Op::Irreversible(IrreversibleOp::Reap)
            | Op::Reversible(ReversibleOp::Methods(_)) => 3,
            Op::Irreversible(IrreversibleOp::PowerOn)
            | Op::Reversible(ReversibleOp::Untaint(_))
            | Op::Reversible(ReversibleOp::Uncordon | ReversibleOp::ForgetRelease)
            | Op::Reversible(ReversibleOp::ReadPower { .. }) => 0,
        },
        Action::Close { .. } => 0,
    }
}

/// A new intent, or a new confirmation of Off, is as harsh as what it allows.
fn intended(fence: &NodeFence, snapshot: &Snapshot) -> u8 {
    let (is, was) = (&fence.status, snapshot.fences.get(&fence.metadata.name).map(|fence| &fence.status));
    let intends = is.intent.is_some() && was.is_none_or(|was| was.intent != is.intent);
    let confirms = is.off.is_some() && was.is_none_or(|was| was.off.is_none());
    let released = is.phase == Phase::PodsReleased && was.is_none_or(|was| was.phase != is.phase);
    let power_on = is.phase == Phase::PoweringOn;
    if (intends || confirms || released) && !power_on { 3 } else { 0 }
}

/// A Lease that no replica has seen since long before the story.
fn ancient() -> LeaseView {
    LeaseView {
        resource_version: String::new(),
        holder: "another".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: Moment::default(),
    }
}

fn broken(mutation: Mutation, snapshot: &Snapshot, memory: Memory, now: Now) -> Decision {
    match mutation {
        Mutation::MissingMeansDead => {
            let mut believed = snapshot.clone();
            for name in snapshot.nodes.keys() {
                believed.kubelet_leases.entry(name.clone()).or_insert_with(ancient);
            }
            decide(&believed, memory, now)
        }
        Mutation::NeverAsks => {
            let mut decision = decide(snapshot, memory, now);
            decision.gather.values_mut().for_each(|wants| wants.power = None);
            decision.actions.iter_mut().for_each(ask_nothing);
            decision
        }
        Mutation::LeavesMarks => {
            let mut decision = decide(snapshot, memory, now);
            decision.actions.iter_mut().for_each(leave_marks);
            decision
        }
        Mutation::KeepsRecords => {
            let mut decision = decide(snapshot, memory, now);
            decision.actions.retain(|action| !gives_way(action));
            decision
        }
        Mutation::SkipsGuards => {
            let mut decision = decide(snapshot, memory, now);
            decision.actions.iter_mut().for_each(skip_guards);
            decision
        }
        Mutation::DeafToSkip => {
            let mut believed = snapshot.clone();
            believed
                .nodes
                .values_mut()
                .for_each(|node| drop(node.annotations.remove(nodewell_remediation::api::SKIP_REMEDIATION)));
            decide(&believed, memory, now)
        }
        Mutation::TurnsOnAtLimit => {
            let mut decision = decide(snapshot, memory, now);
            decision.actions.iter_mut().for_each(forget_limit);
            decision
        }
        Mutation::TrustsLiars => decide(&trusting(snapshot), memory, now),
        _ => decide(snapshot, memory, now),
    }
}

/// No node is Ready with a boot that has ended.
fn trusting(snapshot: &Snapshot) -> Snapshot {
    let mut believed = snapshot.clone();
    for fence in snapshot.fences.values() {
        let Some(off) = &fence.status.off else { continue };
        let ended = believed.nodes.get_mut(&fence.spec.node_name).filter(|node| node.boot_id == off.boot_id);
        ended
            .into_iter()
            .flat_map(|node| &mut node.conditions)
            .for_each(|condition| condition.status = ConditionStatus::Unknown);
    }
    believed
}

/// What is in doubt is taken for undone.
fn ask_nothing(action: &mut Action) {
    let Action::Perform { fence, op: Op::Reversible(ReversibleOp::ReadPower { .. }) } = action else { return };
    if fence.status.phase == Phase::InDoubt {
        let mut fence = fence.clone();
        fence.status.phase = Phase::Failed;
        fence.status.intent = None;
        *action = Action::Save { fence, why: nodewell_remediation::action::EventDraft::default() };
    }
}

/// The end, without what comes before it.
fn leave_marks(action: &mut Action) {
    if let Action::Save { fence, .. } = action
        && fence.status.phase == Phase::Recovering
    {
        fence.status.phase = Phase::Closed;
    }
}

/// As if its power cycles were not at their limit.
fn forget_limit(action: &mut Action) {
    if let Action::Save { fence, .. } = action {
        fence.status.at_limit = false;
    }
}

/// A record is opened in a phase in which no guard is asked any more.
fn skip_guards(action: &mut Action) {
    if let Action::Open(fence) = action {
        fence.status.phase = Phase::PoweringOff;
    }
}
