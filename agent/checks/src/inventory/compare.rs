//! Finds what is known of one class among what is there. Pure.

use nodewell_model::inventory::Component;

/// What became of one that is known; the number is of what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is there, in its slot or in another.
    Present(usize),
    /// Another one took its slot, or one of its model came elsewhere: there are not fewer.
    Replaced(usize),
    Gone,
}

/// The fate of each one that is known, in their order, and the numbers of those that are there and known as none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) fates: Vec<Fate>,
    pub(super) added: Vec<usize>,
}

/// Whether a known one and one that is there belong together, and what that means. The surest first: each pair is made once.
type Rule = (fn(&Component, &Component) -> bool, fn(usize) -> Fate);

const RULES: [Rule; 8] = [
    // Some vendors give all that they make one serial number: then the slot decides which is gone.
    (is_itself, Fate::Present),
    (has_its_serial, Fate::Present),
    (is_in_its_slot_as_before, Fate::Present),
    // A bus is numbered again when a card is added; what has no serial number was moved.
    (is_alike, Fate::Present),
    (is_in_its_slot, Fate::Replaced),
    (is_of_its_model, Fate::Replaced),
    // An update of the firmware may write slots, serial numbers and models in another way.
    (is_as_large, Fate::Replaced),
    // What shows nothing of itself could be any: no loss is certain.
    (is_unread, Fate::Present),
];

pub(super) fn compare<'k>(known: impl Iterator<Item = &'k Component>, present: &[Component]) -> Comparison {
    let known: Vec<&Component> = known.collect();
    let mut fates = vec![Fate::Gone; known.len()];
    let mut is_free = vec![true; present.len()];
    for (belong, fate) in RULES {
        for (one, its_fate) in known.iter().zip(&mut fates).filter(|(_, fate)| **fate == Fate::Gone) {
            let found = present.iter().zip(&is_free).position(|(other, is_free)| *is_free && belong(one, other));
            if let Some(number) = found {
                (*its_fate, is_free[number]) = (fate(number), false);
            }
        }
    }
    let added = is_free.iter().enumerate().filter(|(_, is_free)| **is_free).map(|(number, _)| number).collect();
    Comparison { fates, added }
}

fn is_itself(one: &Component, other: &Component) -> bool {
    has_its_serial(one, other) && is_in_its_slot(one, other)
}

fn has_its_serial(one: &Component, other: &Component) -> bool {
    !one.serial.is_empty() && one.serial == other.serial
}

/// One without a driver shows its slot alone.
fn is_in_its_slot_as_before(one: &Component, other: &Component) -> bool {
    is_in_its_slot(one, other) && (is_unread(one, other) || is_alike(one, other))
}

/// Of one model, and no serial number says that they are two.
fn is_alike(one: &Component, other: &Component) -> bool {
    let are_two = !one.serial.is_empty() && !other.serial.is_empty() && one.serial != other.serial;
    is_of_its_model(one, other) && !are_two
}

fn is_in_its_slot(one: &Component, other: &Component) -> bool {
    !one.slot.is_empty() && one.slot == other.slot
}

fn is_of_its_model(one: &Component, other: &Component) -> bool {
    !one.model.is_empty() && one.model == other.model
}

/// Of memory modules: nothing else has an amount and is compared one by one.
fn is_as_large(one: &Component, other: &Component) -> bool {
    one.amount > 0 && one.amount == other.amount
}

fn is_unread(_: &Component, other: &Component) -> bool {
    !other.slot.is_empty() && other.serial.is_empty() && other.model.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `serial slot model`; a dash is nothing.
    fn component(words: &str) -> Component {
        let mut words = words.split(' ').map(|word| word.trim_matches('-').to_owned());
        let mut next = || words.next().unwrap_or_default();
        Component { serial: next(), slot: next(), model: next(), ..Component::default() }
    }

    fn fates(known: &[&str], present: &[&str]) -> (Vec<Fate>, Vec<usize>) {
        let (known, present): (Vec<_>, Vec<_>) = (
            known.iter().map(|words| component(words)).collect(),
            present.iter().map(|words| component(words)).collect(),
        );
        let Comparison { fates, added } = compare(known.iter(), &present);
        (fates, added)
    }

    #[test]
    fn each_is_found_by_what_is_surest() {
        use Fate::{Gone, Present, Replaced};
        for (known, present, expected) in [
            (&["s1 a m", "s2 b m"][..], &["s2 a m", "s1 b m"][..], (vec![Present(1), Present(0)], vec![])),
            (&["s1 a m"], &["- a m"], (vec![Present(0)], vec![])),
            (&["s1 a m"], &["- a -"], (vec![Present(0)], vec![])),
            (&["s1 a m"], &["s9 a m"], (vec![Replaced(0)], vec![])),
            (&["s1 a m"], &["s9 a n"], (vec![Replaced(0)], vec![])),
            (&["s1 a m"], &["s9 b m"], (vec![Replaced(0)], vec![])),
            (&["s1 a m"], &["s9 b n"], (vec![Gone], vec![0])),
            (&["- a m", "- b m", "- c m"], &["- a m", "- d m"], (vec![Present(0), Present(1), Gone], vec![])),
            (&["s1 a m", "s2 b m"], &["s1 a m"], (vec![Present(0), Gone], vec![])),
            (&["s1 a m", "s1 b m"], &["s1 b m"], (vec![Gone, Present(0)], vec![])),
            (&["s1 a m", "s2 b m"], &["s2 b m", "- c -"], (vec![Present(1), Present(0)], vec![])),
            (&["- - -"], &["- - -"], (vec![Gone], vec![0])),
            (&[], &["s1 a m"], (vec![], vec![0])),
        ] {
            assert_eq!(fates(known, present), expected, "{known:?} {present:?}");
        }
    }

    /// As after an update of the firmware that calls everything by another name.
    #[test]
    fn modules_that_are_as_many_and_as_large_are_not_fewer() {
        let module = |words: &str, amount| Component { amount, ..component(words) };
        let known = [module("0x1A A1 m", 16384), module("0x1B B1 m", 16384)];
        let renamed = [module("1A CPU1_A1 n", 16384), module("1B CPU1_B1 n", 16384)];
        let fates = |present: &[Component]| compare(known.iter(), present).fates;
        assert_eq!(fates(&renamed), [Fate::Replaced(0), Fate::Replaced(1)]);
        assert_eq!(fates(&renamed[..1]), [Fate::Replaced(0), Fate::Gone]);
        assert_eq!(fates(&[module("1A CPU1_A1 n", 8192)]), [Fate::Gone, Fate::Gone]);
    }

    proptest! {
        /// None is found twice, and fewer cannot hide.
        #[test]
        fn each_is_found_once(
            known in prop::collection::vec("[-12] [-ab] [-mn]", 0..8),
            present in prop::collection::vec("[-12] [-ab] [-mn]", 0..8),
        ) {
            let words = |all: &[String]| all.iter().map(|words| component(words)).collect::<Vec<_>>();
            let (known, present) = (words(&known), words(&present));
            let Comparison { fates, added } = compare(known.iter(), &present);
            let found = fates.iter().filter_map(|fate| match fate {
                Fate::Present(number) | Fate::Replaced(number) => Some(*number),
                Fate::Gone => None,
            });
            let mut all: Vec<usize> = found.chain(added).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..present.len()).collect::<Vec<_>>());
        }
    }
}
