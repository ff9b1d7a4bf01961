//! What a seed is about: how large the cluster is, which policy it has, and how much goes wrong.

mod mutation;
mod policy;
mod second;
mod unkind;

use std::time::Duration;

use nodewell_remediation::api::policy::OffUntil;

pub use self::{
    mutation::Mutation,
    policy::POLICY,
    second::{Isolation, OWN_TAINT, SECOND, Second},
};
use crate::{faults::Fault, random::Random};

/// Nodes that may be taken down by the controller, of the cluster and of each zone.
pub const MOST_DOWN: usize = 4;
pub const MOST_DOWN_IN_ZONE: usize = 2;
/// Dead ones beside those: of the cluster, and of each zone.
pub const MOST_DEAD: usize = 2;
/// `maxConcurrent` of the policy.
pub const MOST_AT_ONCE: usize = 3;
/// Power cycles of one node in a day.
pub const MOST_CYCLES: usize = 2;
/// Pods go in a window of so long, where a scenario has a rate of its own.
pub const PODS_WITHIN: Duration = Duration::from_secs(60);
/// The default of `spec.pods`: so many in a window.
const DEFAULT_PODS: (usize, Duration) = (250, Duration::from_mins(10));
/// The silence that a policy with `fast` asks for.
pub const SILENT_FOR: Duration = Duration::from_secs(15);
/// The whole time of a drain.
pub const DRAIN: Duration = Duration::from_secs(30);
/// Calm for so long after a storm.
pub const COOLDOWN: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub struct Scenario {
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
    pub theme: Theme,
    pub steps: Steps,
    pub fast: bool,
    pub dry_run: bool,
    /// The policy is for control-plane nodes too.
    pub fences_control_plane: bool,
    /// Machines have outlets, which are their second fencing level.
    pub has_outlets: bool,
    /// Drains delete with little grace what their time was too short for.
    pub forces: bool,
    /// Machines stay off after their pods were released.
    pub leave_off: bool,
    /// Power cycles of one node that the policy allows.
    pub most_cycles: usize,
    /// What gives a machine back that was left off at that limit.
    pub off_until: OffUntil,
    /// Reaps come also after drains that failed.
    pub even_if_drain_failed: bool,
    /// The policy has the default budgets, which are the narrowest.
    pub narrow: bool,
    /// A disruption budget that never allows anything selects a quarter of the pods.
    pub never_allows: bool,
    /// Pods that may go within [`PODS_WITHIN`]; by default more than a story has.
    pub most_pods: Option<usize>,
    /// Nodes have pods of DaemonSets, one of which tolerates everything and has a volume, and a static one; and some
    /// pods have finalizers.
    pub has_daemons: bool,
    /// There are 300 pods for each node.
    pub is_crowded: bool,
    /// Nodes announce reboots, which take 2, 8 or 15 minutes.
    pub has_reboots: bool,
    /// The policy's `rebootGracePeriod`; the default one without.
    pub reboot_grace: Option<&'static str>,
    /// Wall clocks are stepped.
    pub steps_clocks: bool,
    /// There is another policy, which comes first by its name and only isolates.
    pub second: Option<Second>,
    /// The node lifecycle controller survives an absence of the API server, and calls who was silent Unknown at once.
    pub remembers_silence: bool,
    /// Watches break with the API server; else they hang, and deliver what was missed when it is back.
    pub breaks_watches: bool,
    /// Seconds that each replica's wall clock is ahead of the API server's.
    pub skew: [i64; 3],
    pub mutation: Mutation,
    /// What happens, and after how many seconds, instead of what the seed chooses.
    pub plot: Vec<(u64, Fault)>,
    /// Only this invariant is judged.
    pub judged: Option<&'static str>,
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

/// Where the faults of a seed are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Machines, BMCs and networks.
    Power,
    /// Disruption budgets, and nodes that are ill and Ready.
    Drains,
    /// Control-plane nodes with etcd on them; the controller runs there.
    ControlPlane,
    /// A provider that replaces machines.
    Provider,
    /// Fencing cuts nodes off one storage, and off nothing else.
    Storage,
    /// People at work: nodes to skip, aborts, edits, objects deleted by hand.
    People,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    CordonPowerCycle,
    TaintDrainPowerCycle,
    DrainReboot,
    DrainReap,
}

impl Scenario {
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
        let theme = theme(kind, &mut random);
        let small_nodes = usize::try_from(random.between(10, 20)).unwrap_or(8);
        Self {
            seed,
            nodes: if large { 2000 } else { small_nodes },
            zones: if large { 10 } else { 3 },
            control_planes: if theme == Theme::ControlPlane && random.chance(600) { 5 } else { 3 },
            replicas: if large { 2 } else { usize::try_from(random.between(2, 3)).unwrap_or(2) },
            pods: if large { 100 } else { small_nodes },
            trouble: Duration::from_secs(if large { 80 } else { 180 }),
            end: Duration::from_secs(if large { 100 } else { 450 }),
            kind,
            theme,
            steps: steps(kind, theme, &mut random),
            fast: random.chance(500),
            dry_run: kind == Kind::Mixed && random.chance(80),
            fences_control_plane: theme == Theme::ControlPlane && random.chance(700),
            forces: theme == Theme::Drains && random.chance(300),
            has_outlets: has_outlets(seed, kind, theme),
            leave_off: theme == Theme::People && random.chance(300),
            most_cycles: MOST_CYCLES,
            off_until: off_until(seed),
            even_if_drain_failed: random.chance(500),
            narrow: false,
            never_allows: theme == Theme::Drains && random.chance(500),
            has_daemons: false,
            is_crowded: false,
            has_reboots: false,
            reboot_grace: None,
            steps_clocks: false,
            second: None,
            remembers_silence: Random::new(seed ^ 0x51E9).chance(500),
            breaks_watches: Random::new(seed ^ 0xB2EA).chance(500),
            skew: skew(&mut random),
            most_pods: most_pods(seed, kind),
            mutation: Mutation::None,
            plot: Vec::new(),
            judged: None,
        }
        .made_unkind()
    }
}

impl Scenario {
    /// Nodes that may be down by the controller at once: living ones that it took down, and dead ones beside them.
    #[must_use]
    pub fn most_down(&self) -> usize {
        if self.narrow { 2 } else { MOST_DOWN + MOST_DEAD }
    }

    /// Nodes of the living, or of the dead, that are drained or powered off at once.
    #[must_use]
    pub fn most_drained(&self) -> usize {
        if self.narrow { 1 } else { MOST_AT_ONCE }
    }

    /// Pods that may go in a window, where a story has more.
    #[must_use]
    pub fn pod_limit(&self) -> Option<(usize, Duration)> {
        let default = self.is_crowded.then_some(DEFAULT_PODS);
        self.most_pods.map(|most| (most, PODS_WITHIN)).or(default)
    }

    /// The same of each zone.
    #[must_use]
    pub fn most_down_in_zone(&self) -> usize {
        if self.narrow { 2 } else { MOST_DOWN_IN_ZONE + MOST_DEAD.min(MOST_DOWN_IN_ZONE) }
    }
}

fn theme(kind: Kind, random: &mut Random) -> Theme {
    if matches!(kind, Kind::Plain | Kind::Large) {
        return Theme::Power;
    }
    match random.below(8) {
        0 => Theme::Drains,
        1 => Theme::ControlPlane,
        2 => Theme::Provider,
        3 => Theme::Storage,
        4 => Theme::People,
        _ => Theme::Power,
    }
}

fn steps(kind: Kind, theme: Theme, random: &mut Random) -> Steps {
    let number = random.below(3);
    match (theme, number) {
        _ if kind == Kind::Plain => Steps::CordonPowerCycle,
        (Theme::Provider, _) => Steps::DrainReap,
        (Theme::Storage, _) => Steps::CordonPowerCycle,
        (_, 0) => Steps::DrainReboot,
        (_, 1) => Steps::TaintDrainPowerCycle,
        (Theme::Drains, _) => Steps::DrainReboot,
        _ => Steps::CordonPowerCycle,
    }
}

/// By dice of its own, so that all else of a seed is as it was.
fn has_outlets(seed: u64, kind: Kind, theme: Theme) -> bool {
    let fits = matches!(kind, Kind::Mixed | Kind::Wild) && matches!(theme, Theme::Power | Theme::ControlPlane);
    fits && Random::new(seed ^ 0x0071E7).chance(500)
}

fn most_pods(seed: u64, kind: Kind) -> Option<usize> {
    let mut random = Random::new(seed ^ 0x90D5);
    let small = matches!(kind, Kind::Mixed | Kind::Wild) && random.chance(400);
    small.then(|| usize::try_from(random.between(1, 4)).unwrap_or(2))
}

fn off_until(seed: u64) -> OffUntil {
    if Random::new(seed ^ 0x0FF0).chance(500) { OffUntil::HealthyBoot } else { OffUntil::Released }
}

/// In half of the seeds the clocks agree; else they are up to ten minutes apart, either way.
fn skew(random: &mut Random) -> [i64; 3] {
    if random.chance(500) {
        return [0; 3];
    }
    [(); 3].map(|()| random.below(1200).cast_signed() - 600)
}
