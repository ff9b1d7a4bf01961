//! What holds of any loads and any counters.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::slow_disks::{
    compare::{self, Limits, Outcome},
    load::{Direction, Load},
};

prop_compose! {
    fn direction()(
        operations in 0_u64..5000, sectors_each in 1_u64..40, micros in prop::option::of(0_u64..400_000)
    ) -> Direction {
        let millis = operations * micros.unwrap_or_default() / 1000;
        Direction { operations, sectors: operations * sectors_each, millis, await_micros: micros }
    }
}

prop_compose! {
    fn load(models: u32)(
        size_class in 0..models, reads in direction(), writes in direction(), busy_micros in 0_u64..=300_000_000,
        flushes in 0_u64..500, discards in 0_u64..500
    ) -> Load {
        let model = Model { size_class, is_rotational: size_class.is_multiple_of(2), ..Model::default() };
        let (disk, elapsed_micros) = (String::new(), 300_000_000);
        Load { disk, model, reads, writes, elapsed_micros, busy_micros, discards, flushes }
    }
}

/// Each with a name of its own.
fn named(loads: Vec<Load>, model: &str) -> Vec<Load> {
    let name = |(number, load): (usize, Load)| {
        let own = Model { name: model.to_owned(), ..load.model.clone() };
        Load { disk: format!("{model} {number}"), model: own, ..load }
    };
    loads.into_iter().enumerate().map(name).collect()
}

fn outcomes(loads: &[Load]) -> Vec<(String, Outcome)> {
    let found = compare::compared(loads, Limits::from(&SlowDisksSettings::default()));
    let mut found: Vec<_> = found.into_iter().map(|(load, outcome)| (load.disk.clone(), outcome)).collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

fn is_slow((_, outcome): &&(String, Outcome)) -> bool {
    matches!(outcome, Outcome::Slow(_))
}

proptest! {
    #[test]
    fn few_are_slow_and_none_below_its_floor(loads in prop::collection::vec(load(3), 0..40)) {
        let found = outcomes(&named(loads, "one"));
        // Of each model one, or an eighth.
        prop_assert!(found.iter().filter(is_slow).count() <= 3 + found.len() / 8);
        for (_, outcome) in &found {
            if let Outcome::Slow(figures) = outcome {
                prop_assert!(figures.await_micros >= 20_000 && figures.siblings >= 2);
                prop_assert!(figures.await_micros >= 4 * figures.siblings_micros);
            }
        }
    }

    /// Neither the order of disks nor disks of other models matter.
    #[test]
    fn only_siblings_count(
        loads in prop::collection::vec(load(1), 0..12), others in prop::collection::vec(load(1), 0..12)
    ) {
        let mut all = named(loads, "one");
        let alone = outcomes(&all);
        all.reverse();
        all.extend(named(others, "other"));
        let together: Vec<_> = outcomes(&all).into_iter().filter(|(disk, _)| disk.starts_with("one ")).collect();
        prop_assert_eq!(alone, together);
    }

    /// Disks that do the same are like each other, whatever it is.
    #[test]
    fn none_is_slow_where_all_are_alike(one in load(2), count in 0_usize..12) {
        let same = |number| Load { disk: format!("disk {number}"), ..one.clone() };
        let loads: Vec<Load> = (0..count).map(same).collect();
        prop_assert_eq!(outcomes(&loads).iter().filter(is_slow).count(), 0);
    }

    /// A worker that was written over may send anything.
    #[test]
    fn whatever_is_read_the_account_is_sound(
        looks in prop::collection::vec(
            (0_u64..400, prop::collection::vec(any::<[u64; 9]>(), 0..6), any::<bool>()), 1..30
        )
    ) {
        let mut machine = Machine::new(4);
        for (secs, counters, restarts) in looks {
            let taken = counters.into_iter().enumerate().map(|(number, counters)| {
                let [a, b, c, d, e, f, discards, flushes, busy_millis] = counters;
                let reads = Transfers { operations: a, sectors: b, millis: c };
                let writes = Transfers { operations: d, sectors: e, millis: f };
                let counters = Counters { reads, writes, discards, flushes, busy_millis };
                (Device { counters, ..device(number) }, IDLE)
            });
            machine.disks = taken.collect();
            machine.pass(Duration::from_secs(secs));
            if restarts {
                machine.restart();
            }
            let findings = machine.look();
            let subjects: BTreeSet<&String> = findings.verdicts.iter().map(|verdict| &verdict.subject).collect();
            prop_assert_eq!(subjects.len(), findings.verdicts.len(), "no device twice");
            prop_assert!(slow(&findings).len() <= compared(&findings) as usize);
        }
    }
}
