//! What goes wrong in a seed, and when.

mod befall;
mod bmcs;
mod clocks;
mod crowds;
mod heirs;
mod people;
mod reboots;
mod records;
mod stories;
mod supplies;
mod volumes;

use std::time::Duration;

use nodewell_remediation::{api::fence::Phase, time::Moment};

use crate::{
    clocks::Wall,
    random::Random,
    scenario::{Kind, Scenario, Steps, Theme},
    truth::{Announcer, Manner, Outlets},
};

/// When the one node of a plain story fails.
pub const PLAIN_AT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    PowerLoss(String),
    Hang(String),
    Wake(String),
    Cut(String),
    Heal(String),
    KubeletDies(String),
    /// It hangs, and does not come up again by itself.
    Breaks(String),
    /// Ready, and of no use.
    BecomesUnhealthy(String),
    /// From now on its BMC has this way.
    Lies(String, Manner),
    /// From now on its outlets have this way.
    OutletsChange(String, Outlets),
    /// Its outlets are On and without current: it is off, and so is its BMC.
    LosesFeed(String),
    FeedBack(String),
    /// It announces an orderly reboot, which takes so long.
    Restarts(String, Duration, Announcer),
    /// The attach-detach controller cannot detach its volumes from now on.
    VolumesStay(String),
    VolumesGo(String),
    /// A wall clock is set forwards or backwards by so many seconds.
    ClockStep(Wall, i64),
    /// A person deletes the next record that comes to this phase.
    DeletesRecordIn(Phase),
    ZoneCut(String),
    ZonePower(String),
    EtcdStops(String),
    EtcdRuns(String),
    Stop,
    Go,
    ApiDown(Duration),
    ReplicaCut(usize, Duration),
    Freeze(usize, Duration),
    Deaf(usize, Duration),
    Kill(usize),
    /// etcd is restored from a backup that is so old; the API server is away for the second time.
    StoreBack(Duration, Duration),
    /// What people do, to a node under remediation if there is one.
    Person(Person, String),
    /// What people do to the policy.
    Edit(Edit),
    /// The end of all faults.
    Mend,
    /// A person switches on each machine that is off without a record.
    Restore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Person {
    PowersOn,
    Reboots,
    Cordons,
    Uncordons,
    Aborts,
    SkipsNode,
    SkipsRecord,
    LetsGo,
    DeletesRecord,
    DeletesNode,
    RecreatesNode,
    AsksAgain,
    /// Gives a machine back that was left off.
    Releases,
}

const PERSONS: [Person; 12] = [
    Person::PowersOn,
    Person::Reboots,
    Person::Cordons,
    Person::Uncordons,
    Person::Aborts,
    Person::SkipsNode,
    Person::SkipsRecord,
    Person::LetsGo,
    Person::DeletesRecord,
    Person::DeletesNode,
    Person::RecreatesNode,
    Person::AsksAgain,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// The predicate is no expression any more.
    Spoils,
    /// The fields cannot be parsed.
    Garbles,
    Deletes,
    Pauses,
    Observes,
    Tightens,
    Steps(Steps),
    Mends,
}

const EDITS: [Edit; 8] = [
    Edit::Spoils,
    Edit::Garbles,
    Edit::Deletes,
    Edit::Pauses,
    Edit::Observes,
    Edit::Tightens,
    Edit::Steps(Steps::TaintDrainPowerCycle),
    Edit::Mends,
];

/// The whole plan, in the order of time.
#[must_use]
pub fn plan(scenario: &Scenario) -> Vec<(Moment, Fault)> {
    let mut random = Random::new(scenario.seed ^ 0xFA17);
    let mut plan = match scenario.kind {
        _ if !scenario.plot.is_empty() => plotted(&scenario.plot),
        Kind::Plain => vec![(Moment(PLAIN_AT), Fault::PowerLoss("n-0004".into()))],
        Kind::Large => vec![
            (Moment(Duration::from_secs(20)), Fault::PowerLoss("n-0004".into())),
            (Moment(Duration::from_secs(60)), Fault::ZoneCut("z-1".into())),
        ],
        Kind::Mixed => several(scenario, &mut random, 10),
        Kind::Wild => several(scenario, &mut random, 40),
    };
    plan.extend(store_back(scenario));
    plan.extend(supplies::plot(scenario));
    plan.extend(bmcs::plot(scenario));
    plan.extend(unkind(scenario));
    plan.push((Moment(scenario.trouble), Fault::Mend));
    plan.push((Moment(scenario.trouble + Duration::from_secs(120)), Fault::Restore));
    plan.sort_by_key(|(at, _)| *at);
    plan
}

/// Each by dice of its own.
fn unkind(scenario: &Scenario) -> Vec<(Moment, Fault)> {
    let plots = [reboots::plot, clocks::plot, volumes::plot, records::plot, crowds::plot, heirs::plot];
    plots.into_iter().flat_map(|plot| plot(scenario)).collect()
}

/// In one of ten seeds; by dice of its own, so that all else of a seed is as it was.
fn store_back(scenario: &Scenario) -> Option<(Moment, Fault)> {
    let mut random = Random::new(scenario.seed ^ 0xE7CD);
    let is_rare = matches!(scenario.kind, Kind::Mixed | Kind::Wild) && scenario.plot.is_empty() && random.chance(100);
    let away = if random.chance(300) { Duration::ZERO } else { random.secs(1, 30) };
    let fault = Fault::StoreBack(random.secs(3, 120), away);
    is_rare.then(|| (Moment(random.millis(60_000, 180_000)), fault))
}

fn plotted(plot: &[(u64, Fault)]) -> Vec<(Moment, Fault)> {
    plot.iter().map(|(secs, fault)| (Moment(Duration::from_secs(*secs)), fault.clone())).collect()
}

fn several(scenario: &Scenario, random: &mut Random, most: u64) -> Vec<(Moment, Fault)> {
    let end = scenario.trouble.as_millis().try_into().unwrap_or(180_000);
    let count = random.between(2, most);
    let alone = (0..count).map(|_| (Moment(random.millis(20_000, end)), one(scenario, random))).collect();
    [alone, stories::plot(scenario)].concat()
}

/// Half of them are what the seed is about.
fn one(scenario: &Scenario, random: &mut Random) -> Fault {
    let node = node(scenario, random);
    let themed = random.chance(500);
    match (scenario.theme, random.below(4)) {
        (Theme::Drains, _) if themed => Fault::BecomesUnhealthy(node),
        (Theme::ControlPlane, kind) if themed => control_plane(scenario, random, kind),
        (Theme::Provider, 0..=2) if themed => Fault::BecomesUnhealthy(node),
        (Theme::People, 0) if themed => Fault::Edit(pick(&EDITS, random)),
        (Theme::People, 1..) if themed => Fault::Person(pick(&PERSONS, random), node),
        (Theme::Storage, 0) if themed => Fault::Person(Person::Reboots, node),
        (Theme::Storage, 1 | 2) if themed => Fault::Person(Person::DeletesRecord, node),
        _ => anything(scenario, random, node),
    }
}

fn control_plane(scenario: &Scenario, random: &mut Random, kind: u64) -> Fault {
    let host = format!("cp-{}", random.below(scenario.control_planes as u64));
    match kind {
        0 => Fault::EtcdStops(host),
        1 => Fault::PowerLoss(host),
        2 => Fault::KubeletDies(host),
        _ if random.chance(500) => Fault::Hang(host),
        _ => Fault::EtcdRuns(host),
    }
}

fn node(scenario: &Scenario, random: &mut Random) -> String {
    let number = scenario.control_planes as u64 + random.below(scenario.nodes as u64);
    format!("n-{number:04}")
}

fn pick<T: Copy>(of: &[T], random: &mut Random) -> T {
    let index = usize::try_from(random.below(of.len() as u64)).unwrap_or(0);
    of[index]
}

fn anything(scenario: &Scenario, random: &mut Random, node: String) -> Fault {
    let zone = format!("z-{}", random.below(scenario.zones as u64));
    let replica = usize::try_from(random.below(scenario.replicas as u64)).unwrap_or(0);
    match random.below(44) {
        0..=4 => Fault::PowerLoss(node),
        5..=7 => Fault::Hang(node),
        8 => Fault::Wake(node),
        9..=12 => Fault::Cut(node),
        13 => Fault::Heal(node),
        14 | 15 => Fault::KubeletDies(node),
        16 => Fault::ZoneCut(zone),
        17 => Fault::ZonePower(zone),
        18 | 19 => Fault::Breaks(node),
        20 | 21 => Fault::BecomesUnhealthy(node),
        22 => Fault::Edit(pick(&EDITS, random)),
        23..=26 => Fault::Person(pick(&PERSONS, random), node),
        27 => Fault::Stop,
        28 => Fault::Go,
        29 => Fault::ApiDown(random.secs(1, 40)),
        30..=32 => Fault::ReplicaCut(replica, random.secs(1, 40)),
        33..=35 => Fault::Freeze(replica, random.secs(1, 40)),
        36 | 37 => Fault::Deaf(replica, random.secs(5, 60)),
        _ => Fault::Kill(replica),
    }
}

impl Fault {
    /// What it is called where kinds are counted.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Self::Person(what, _) => format!("person {what:?}"),
            Self::Edit(Edit::Steps(_)) => "edit Steps".into(),
            Self::Edit(what) => format!("edit {what:?}"),
            Self::ClockStep(wall, seconds) => {
                let whose = if *wall == Wall::ApiServer { "Api" } else { "Replica" };
                format!("fault {whose}Clock{}", if *seconds > 0 { "Forwards" } else { "Backwards" })
            }
            other => {
                let text = format!("{other:?}");
                format!("fault {}", text.split('(').next().unwrap_or_default())
            }
        }
    }
}
