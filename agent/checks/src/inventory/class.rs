//! What is remembered of one class over boots, and the comparison of a boot with the ones before. Pure.
//!
//! A boot is compared once, when it is old enough that all devices have come: then it has *settled*. What is not there at that
//! moment, and was at that of an earlier boot, is missing until it comes back or a person accepts that it is gone. What is
//! plugged in or pulled later in a boot belongs to the next one.

use std::collections::BTreeSet;

use jiff::Timestamp;
use nodewell_model::inventory::{Component, ComponentClass};
use serde::{Deserialize, Serialize};

use super::{
    compare::{Fate, compare},
    reading::LIMIT,
};

/// In so many looks one after the other a component is not there: one look may fall into its reset.
const LOOKS: u32 = 3;
/// Memory is less if an eighth of it is: a kernel reserves more or less than another (crash kernels, graphics of the CPU),
/// and one of eight modules is as much. One of more modules is missing by its slot.
const MEMORY_PARTS: u64 = 8;

/// One class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ClassState {
    known: Vec<Known>,
    /// The boot that was compared last.
    settled: Option<String>,
}

/// One component that an earlier boot had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) component: Component,
    /// To the hour: each look would be a write otherwise.
    pub(super) last_seen: Timestamp,
    pub(super) is_missing: bool,
    /// In so many looks, before this boot settled, it was not there.
    #[serde(skip)]
    looks: u32,
}

/// The moment of a look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) boot_id: &'a str,
    pub(super) wall: Timestamp,
    /// Whether the boot is old enough.
    pub(super) may_settle: bool,
    /// Controllers whose disks this kernel does not show.
    pub(super) hidden: &'a [String],
}

impl Look<'_> {
    /// Whether it hangs on such a controller. One of Intel's (VMD) makes a domain of five digits for its disks
    /// (drivers/pci/controller/vmd.c): which one that is the address does not show.
    fn hides(&self, component: &Component) -> bool {
        let is_made = component.slot.find(':').is_some_and(|digits| digits > 4);
        self.hidden.iter().any(|controller| is_made || component.slot.starts_with(controller.as_str()))
    }
}

/// What is worth an Event, and no fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Added(Component),
    Replaced { old: Component, new: Component },
    Grown { from: u64, to: u64 },
}

impl ClassState {
    /// Compares, and remembers.
    pub(super) fn look(&mut self, class: ComponentClass, present: &[Component], look: Look<'_>) -> Vec<Change> {
        match (class.is_amount(), present) {
            (true, [one, ..]) => self.look_at_amount(class, one, look),
            // An amount that is not there was not read.
            (true, []) => Vec::new(),
            (false, _) => self.look_at_components(present, look),
        }
    }

    pub(super) fn missing(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().filter(|known| known.is_missing)
    }

    /// A person knows that these are gone; returns which of them were missing. `present` is what is accepted of an amount.
    pub(super) fn accept(
        &mut self,
        class: ComponentClass,
        names: &BTreeSet<&str>,
        present: &[Component],
    ) -> Vec<String> {
        let is_accepted = |known: &Known| known.is_missing && names.contains(known.component.name(class).as_str());
        let accepted = self.known.iter().filter(|known| is_accepted(known)).map(|known| known.component.name(class));
        let accepted: Vec<String> = accepted.collect();
        match (class.is_amount(), present.first()) {
            (true, Some(now)) => {
                let less = self.known.iter_mut().filter(|known| is_accepted(known));
                less.for_each(|known| {
                    (known.component, known.is_missing) = (now.clone(), false);
                });
            }
            _ => self.known.retain(|known| !is_accepted(known)),
        }
        accepted
    }

    fn look_at_components(&mut self, present: &[Component], look: Look<'_>) -> Vec<Change> {
        let comparison = compare(self.known.iter().map(|known| &known.component), present);
        let (is_first, is_due) = (self.settled.is_none(), self.is_due(look));
        for (known, fate) in self.known.iter_mut().zip(&comparison.fates) {
            let is_gone = *fate == Fate::Gone && !look.hides(&known.component);
            known.count(is_due && is_gone);
        }
        let settles = self.settles(look);
        let mut changes = Vec::new();
        for (known, fate) in self.known.iter_mut().zip(&comparison.fates) {
            match *fate {
                Fate::Present(number) => known.see(&present[number], look.wall),
                // What came in place of a missing one ends that at once.
                Fate::Replaced(number) if settles || known.is_missing => {
                    let new = present[number].clone();
                    let old = std::mem::replace(known, Known::of(new.clone(), look.wall)).component;
                    changes.push(Change::Replaced { old, new });
                }
                Fate::Replaced(_) => {}
                Fate::Gone => known.is_missing |= settles && known.looks >= LOOKS,
            }
        }
        if settles {
            let added: Vec<Component> = comparison.added.iter().map(|number| present[*number].clone()).collect();
            self.known.extend(added.iter().map(|component| Known::of(component.clone(), look.wall)));
            // More than any node has, and than a file has to hold.
            self.known.truncate(4 * LIMIT);
            changes.extend(added.into_iter().filter(|_| !is_first).map(Change::Added));
        }
        changes
    }

    fn look_at_amount(&mut self, class: ComponentClass, now: &Component, look: Look<'_>) -> Vec<Change> {
        let is_due = self.is_due(look);
        let is_less = |known: &Known| is_clearly_less(class, now.amount, known.component.amount);
        for known in &mut self.known {
            let is_gone = is_less(known);
            known.count(is_due && is_gone);
        }
        if !self.settles(look) {
            self.known.iter_mut().filter(|known| !is_less(known)).for_each(|known| known.mark_seen(look.wall));
            return Vec::new();
        }
        let Some(known) = self.known.first_mut() else {
            self.known.push(Known::of(now.clone(), look.wall));
            return Vec::new();
        };
        if is_less(known) {
            known.is_missing = true;
            return Vec::new();
        }
        known.mark_seen(look.wall);
        let from = known.component.amount;
        // What is a little less stays accepted as it was: many small steps down are a large one.
        known.component.amount = from.max(now.amount);
        let has_grown = is_clearly_less(class, from, now.amount);
        if has_grown { vec![Change::Grown { from, to: now.amount }] } else { Vec::new() }
    }

    /// Whether the boot is to be compared, and was not yet.
    fn is_due(&self, look: Look<'_>) -> bool {
        let is_settled = self.settled.as_deref() == Some(look.boot_id);
        // A boot without a name could be any, also the one that was compared.
        look.may_settle && !is_settled && !look.boot_id.is_empty()
    }

    /// Whether this look settles the boot: each one that is not there was not there often enough.
    fn settles(&mut self, look: Look<'_>) -> bool {
        let may_come = |known: &Known| !known.is_missing && (1..LOOKS).contains(&known.looks);
        let settles = self.is_due(look) && !self.known.iter().any(may_come);
        if settles {
            self.settled = Some(look.boot_id.to_owned());
        }
        settles
    }
}

impl Known {
    fn of(component: Component, wall: Timestamp) -> Self {
        Self { component, last_seen: to_the_hour(wall), is_missing: false, looks: 0 }
    }

    fn mark_seen(&mut self, wall: Timestamp) {
        (self.last_seen, self.is_missing) = (to_the_hour(wall), false);
    }

    fn count(&mut self, is_gone: bool) {
        self.looks = if is_gone { self.looks.saturating_add(1) } else { 0 };
    }

    /// What it does not show now it showed before.
    fn see(&mut self, now: &Component, wall: Timestamp) {
        let or = |now: &String, before: &mut String| {
            if !now.is_empty() {
                before.clone_from(now);
            }
        };
        let before = &mut self.component;
        or(&now.serial, &mut before.serial);
        or(&now.slot, &mut before.slot);
        or(&now.model, &mut before.model);
        or(&now.firmware, &mut before.firmware);
        or(&now.driver, &mut before.driver);
        before.amount = now.amount;
        self.mark_seen(wall);
    }
}

fn is_clearly_less(class: ComponentClass, amount: u64, than: u64) -> bool {
    let slack = if class == ComponentClass::Memory { than / MEMORY_PARTS } else { 0 };
    amount < than - slack
}

fn to_the_hour(wall: Timestamp) -> Timestamp {
    let rest = wall.as_second().rem_euclid(3600);
    Timestamp::from_second(wall.as_second() - rest).unwrap_or(wall)
}
