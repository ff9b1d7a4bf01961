//! What a seed is about: how large the cluster is, which policy it has, and how much goes wrong.

use std::time::Duration;

use nodewell_remedy::api::{
    Meta,
    policy::{
        Amount, BudgetSpec, CordonStep, DrainStep, FastSpec, Mode, PowerStep, RateSpec, RemedyPolicy, RemedyPolicySpec,
        Span, StepSpec, StormSpec, TaintStep,
    },
};

use crate::random::Random;

/// Nodes that may be taken down by the controller, of the cluster and of each zone.
pub const MOST_DOWN: usize = 4;
pub const MOST_DOWN_IN_ZONE: usize = 2;
/// Power cycles of one node in a day.
pub const MOST_CYCLES: usize = 2;

#[derive(Debug, Clone)]
pub struct Scene {
    pub seed: u64,
    pub nodes: usize,
    pub zones: usize,
    pub control_planes: usize,
    pub replicas: usize,
    pub pods: usize,
    /// Faults are begun until then; afterwards all is mended.
    pub trouble: Duration,
    pub end: Duration,
    pub kind: Kind,
    pub ladder: Ladder,
    pub fast: bool,
    pub dry_run: bool,
    pub mutation: Mutation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One node fails and nothing else: its pods have to be released in time.
    Plain,
    /// A few faults of every kind.
    Mixed,
    /// Everything at once.
    Wild,
    /// Thousands of nodes and the failure of a zone.
    Large,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ladder {
    CordonPowerCycle,
    TaintDrainPowerCycle,
    DrainReboot,
}

/// A guard that is switched off, to see that the oracles notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// Power is said to be off whatever it is.
    FalseOff,
    /// Every replica believes that it leads for ever.
    LeadsForEver,
    /// A kill switch is never seen by the check before an act, nor by decisions.
    DeafToStop,
    /// One node that lives looks dead, in the watches and in every read of its Lease.
    SeesDead,
}

impl Scene {
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5CE9E);
        let kind = match seed % 100 {
            99 => Kind::Large,
            n if n % 10 == 0 => Kind::Plain,
            n if n % 3 == 0 => Kind::Wild,
            _ => Kind::Mixed,
        };
        let large = kind == Kind::Large;
        let small_nodes = usize::try_from(random.between(10, 20)).unwrap_or(8);
        Self {
            seed,
            nodes: if large { 2000 } else { small_nodes },
            zones: if large { 10 } else { 3 },
            control_planes: 3,
            replicas: if large { 2 } else { usize::try_from(random.between(2, 3)).unwrap_or(2) },
            pods: if large { 100 } else { small_nodes },
            trouble: Duration::from_secs(if large { 80 } else { 180 }),
            end: Duration::from_secs(if large { 100 } else { 450 }),
            kind,
            ladder: ladder(kind, &mut random),
            fast: random.chance(500),
            dry_run: kind == Kind::Mixed && random.chance(80),
            mutation: Mutation::None,
        }
    }

    #[must_use]
    pub fn policy(&self) -> RemedyPolicy {
        let spec = RemedyPolicySpec {
            selector: Default::default(),
            when: "(has(conditions.Ready) && conditions.Ready.status != 'True') || (lease.present && lease.age >= 15)"
                .into(),
            r#for: Some(Span(if self.fast { "0s" } else { "50s" }.into())),
            healthy_for: Some(Span("20s".into())),
            steps: self.steps(),
            mode: Mode::Enforce,
            control_plane: Default::default(),
            new_node_grace: None,
            cordon_budget: Some(budget("50%", "100%", None)),
            budget: Some(self.power_budget()),
            storm: Some(storm()),
            restarts: Some(RateSpec { count: u32::try_from(MOST_CYCLES).unwrap_or(2), within: Span("24h".into()) }),
            pods: None,
            fast: self.fast.then(|| FastSpec { silent_for: Some(Span("15s".into())), unreachable_from: Some(2) }),
        };
        let metadata =
            Meta { name: "lost".into(), uid: "policy".into(), resource_version: "1".into(), ..Meta::default() };
        RemedyPolicy { metadata, spec }
    }

    fn power_budget(&self) -> BudgetSpec {
        BudgetSpec {
            max_unavailable: Some(Amount::Count(u32::try_from(MOST_DOWN).unwrap_or(1))),
            max_unavailable_per_zone: Some(Amount::Count(u32::try_from(MOST_DOWN_IN_ZONE).unwrap_or(1))),
            at_once: Some(3),
            ..BudgetSpec::default()
        }
    }

    fn steps(&self) -> Vec<StepSpec> {
        let cordon = StepSpec { cordon: Some(CordonStep {}), ..StepSpec::default() };
        let taint = StepSpec { taint: Some(TaintStep::default()), ..StepSpec::default() };
        let power = PowerStep { ready_timeout: Some(Span("3m".into())), ..PowerStep::default() };
        let cycle = StepSpec { power_cycle: Some(power.clone()), ..StepSpec::default() };
        let reboot = StepSpec { reboot: Some(power), ..StepSpec::default() };
        let drain = DrainStep { timeout: Span("30s".into()), ..DrainStep::default() };
        let drain = StepSpec { drain: Some(drain), ..StepSpec::default() };
        match self.ladder {
            Ladder::CordonPowerCycle => vec![cordon, cycle],
            Ladder::TaintDrainPowerCycle => vec![taint, drain, cycle],
            Ladder::DrainReboot => vec![cordon, drain, reboot],
        }
    }
}

fn ladder(kind: Kind, random: &mut Random) -> Ladder {
    match random.below(3) {
        _ if kind == Kind::Plain => Ladder::CordonPowerCycle,
        0 => Ladder::DrainReboot,
        1 => Ladder::TaintDrainPowerCycle,
        _ => Ladder::CordonPowerCycle,
    }
}

/// Shorter than the default, so that a story has time for what comes after a storm.
fn storm() -> StormSpec {
    StormSpec { cooldown: Some(Span("30s".into())), ..StormSpec::default() }
}

fn budget(cluster: &str, zone: &str, at_once: Option<u32>) -> BudgetSpec {
    BudgetSpec {
        max_unavailable: Some(Amount::Text(cluster.into())),
        max_unavailable_per_zone: Some(Amount::Text(zone.into())),
        at_once,
        ..BudgetSpec::default()
    }
}
