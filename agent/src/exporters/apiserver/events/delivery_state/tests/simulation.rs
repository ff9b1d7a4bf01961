//! Whatever happens, in whatever order: in the end the server has counted every occurrence exactly once.

use proptest::prelude::*;

use super::{
    world::{Fate, World},
    *,
};

#[derive(Debug, Clone)]
enum Step {
    Occur(usize),
    Report,
    ReadLog,
    /// The disk gets on, by so many in a hundred of what waits.
    Write(usize),
    Deliver(Fate),
    Pass(u64),
    Expire(usize),
    RecreateNode,
    LoseFile,
    Crash,
}

/// How the agent comes back after the next crash.
#[derive(Debug, Clone)]
struct Return {
    /// Of what waited for the disk, so many in a hundred were written.
    written: usize,
    down_secs: u64,
    reboot: bool,
}

const SUBJECTS: [&str; 3] = ["sda", "sdb", "sdc"];

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Answered),
        2 => Just(Fate::AnswerLost),
        1 => Just(Fate::NeverArrived),
        1 => Just(Fate::LookFails),
        1 => Just(Fate::DiesBefore),
        2 => Just(Fate::DiesAfterSending),
        2 => Just(Fate::DiesBeforePut),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..SUBJECTS.len()).prop_map(Step::Occur),
        6 => Just(Step::Report),
        6 => Just(Step::ReadLog),
        3 => (0..=100_usize).prop_map(Step::Write),
        9 => fate().prop_map(Step::Deliver),
        3 => prop_oneof![1..120_u64, 1_500..4_000_u64].prop_map(Step::Pass),
        1 => any::<usize>().prop_map(Step::Expire),
        1 => Just(Step::RecreateNode),
        1 => Just(Step::LoseFile),
        3 => Just(Step::Crash),
    ]
}

fn comes_back() -> impl Strategy<Value = Return> {
    (0..=100_usize, prop_oneof![Just(2_u64), 1_000..5_000_u64], any::<bool>())
        .prop_map(|(written, down_secs, reboot)| Return { written, down_secs, reboot })
}

fn play(steps: Vec<Step>, returns: &[Return]) -> World {
    let limits = EventLimits::default();
    let mut world = World::new(limits);
    let mut returns = returns.iter().cycle();
    let mut crash = |world: &mut World| {
        let Return { written, down_secs, reboot } = returns.next().unwrap();
        world.write(world.waiting_puts() * written / 100);
        world.crash(limits, *down_secs, *reboot);
    };
    for step in steps {
        match step {
            Step::Occur(subject) => world.occur(SUBJECTS[subject]),
            Step::Report => world.report(),
            Step::ReadLog => world.read_log(),
            Step::Write(percent) => world.write(world.waiting_puts() * percent / 100),
            Step::Deliver(fate) => {
                if world.deliver(fate) == Some(true) {
                    crash(&mut world);
                }
            }
            Step::Pass(secs) => world.pass(secs),
            Step::Expire(nth) => world.expire(nth),
            Step::RecreateNode => world.recreate_node(),
            Step::LoseFile => world.lose_file(),
            Step::Crash => crash(&mut world),
        }
    }
    world.deliver_all();
    // A last restart finds nothing that is to be reported once more.
    crash(&mut world);
    world.deliver_all();
    world
}

proptest! {
    #[test]
    fn every_occurrence_is_counted_exactly_once(
        steps in prop::collection::vec(step(), 1..120),
        returns in prop::collection::vec(comes_back(), 8),
    ) {
        let world = play(steps, &returns);
        prop_assert_eq!(world.left(), []);
        for (subject, (counted, happened)) in world.sums() {
            prop_assert_eq!(format!("{counted:b}"), format!("{happened:b}"), "{}", subject);
        }
    }
}
