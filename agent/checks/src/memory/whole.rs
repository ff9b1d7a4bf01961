//! The node's memory as a whole: pages that lost data, and those that were given up in time.

use nodewell_faults::message;
use nodewell_model::Name;
use serde::{Deserialize, Serialize};

use super::{
    bucket::Bucket,
    cxl::{CxlEvent, CxlReport},
    join::{Recent, exonerated},
    ras::RasEvent,
    reading::{WHOLE, Whole},
};
use crate::probe::{DeviceEvent, Fault, Now, RecoveryEvidence, State};

const PAGE_KB: u64 = 4;

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WholeState {
    /// As last read in this boot.
    pages: Option<u64>,
    corrupted_kb: Option<u64>,
    /// Pages of this boot that no module answers for.
    unexplained: u64,
    /// Whether the kernel counts pages that lost data, not only pages that are out of use.
    counts_losses: bool,
    /// Corrected errors that machine checks reported, where no driver knows modules.
    pub(super) bucket: Bucket,
    #[serde(skip)]
    recent: Recent,
}

/// What a round brought, beside the reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundContext<'a> {
    pub(super) now: &'a Now,
    /// The module that lost data in this round.
    pub(super) loss: Option<&'a str>,
    /// Whether a driver names modules.
    pub(super) has_modules: bool,
    pub(super) capacity: u32,
}

impl WholeState {
    pub(super) fn begin_boot(&mut self) {
        *self = Self { bucket: std::mem::take(&mut self.bucket), ..Self::default() };
    }

    /// What is saved has no part that is forgotten.
    pub(super) fn saved(&self) -> Self {
        let unexplained = self.unexplained.saturating_add(self.recent.unexplained());
        Self { unexplained, recent: Recent::default(), ..self.clone() }
    }

    /// Adds a round; `reading` is `None` if there was none.
    pub(super) fn take(&mut self, reading: Option<&Whole>, context: RoundContext<'_>) -> Vec<DeviceEvent> {
        let at = context.now.boottime;
        context.loss.into_iter().for_each(|label| self.recent.add_loss(at, label));
        let device_events = reading.map(|reading| self.read(reading, context)).unwrap_or_default();
        self.recent.explain(at);
        self.unexplained = self.unexplained.saturating_add(self.recent.age(at));
        device_events
    }

    fn read(&mut self, reading: &Whole, context: RoundContext<'_>) -> Vec<DeviceEvent> {
        reading.events.iter().for_each(|event| self.event(event, context));
        self.counts_losses |= reading.lost_pages.is_some();
        // Neither counter starts again within a boot: one that goes back is that of less memory.
        let retired_kb = reading.corrupted_kb.map_or(0, |kb| kb.saturating_sub(self.corrupted_kb.unwrap_or(kb)));
        let retired = reading.corrupted_kb.map(|kb| kb / PAGE_KB).filter(|_| !self.counts_losses);
        let pages = reading.lost_pages.or(retired);
        let lost = pages.map_or(0, |pages| pages.saturating_sub(self.pages.unwrap_or(0)));
        self.recent.add_pages(context.now.boottime, lost);
        self.pages = pages.or(self.pages);
        self.corrupted_kb = reading.corrupted_kb.or(self.corrupted_kb);
        let reported = if self.counts_losses { lost } else { reading.failed_pages() };
        let unreported_kb = retired_kb.saturating_sub(reported.saturating_mul(PAGE_KB));
        (unreported_kb > 0).then(|| retired_pages(unreported_kb, context.now)).into_iter().collect()
    }

    fn event(&mut self, event: &RasEvent, context: RoundContext<'_>) {
        let at = context.now.boottime;
        match event {
            RasEvent::Page { frame } => self.recent.add_failed_page(at, *frame),
            RasEvent::Memory(memory) if !memory.corrected => self.recent.add_frame(at, memory.frame()),
            RasEvent::MachineCheck(check) if check.is_uncorrected() => self.recent.add_check(at, check),
            RasEvent::MachineCheck(check) if check.is_of_memory() && !context.has_modules => {
                self.bucket.add(1, context.capacity);
            }
            RasEvent::Cxl(CxlEvent { report: CxlReport::Media(error), .. }) if error.is_loss() => {
                error.frame.into_iter().for_each(|frame| self.recent.add_frame(at, frame));
            }
            RasEvent::Memory(_) | RasEvent::MachineCheck(_) | RasEvent::Cxl(_) | RasEvent::Lost { .. } => {}
        }
    }

    /// How it is.
    pub(super) fn state(&self, capacity: u32) -> State {
        let pages = self.unexplained.saturating_add(self.recent.unexplained());
        let mut faults = Vec::new();
        if self.counts_losses && pages > 0 {
            faults.push(Fault::of("MemoryUncorrectedError/pages", &[("pages", &pages)]));
        }
        if self.bucket.is_full() {
            faults.push(Fault::of("MemoryCorrectedError/unnamed", &[("limit", &capacity.max(1))]));
        }
        match faults.is_empty() {
            true => self.healthy(),
            false => State::Faulty(faults),
        }
    }

    fn healthy(&self) -> State {
        match self.corrupted_kb {
            Some(kb @ 1..) => State::healthy("MemoryUnhealthy/healthy-retired", &[("size", &kb)]),
            Some(0) | None => State::healthy("MemoryUnhealthy/healthy-pages", &[]),
        }
    }

    /// Problems that others claim and that are explained.
    pub(super) fn recoveries(&self, now: &Now) -> Vec<RecoveryEvidence> {
        let mut recoveries = Vec::new();
        if let Some(label) = self.recent.joined_module(now.boottime).filter(|_| self.unexplained == 0) {
            let evidence = message("MemoryUnhealthy/ended-module", &[("module", &label)]);
            recoveries.push(RecoveryEvidence {
                condition: Name::fixed("MemoryUnhealthy"),
                reason: Some(Name::fixed("MemoryUncorrectedError")),
                subject: WHOLE.to_owned(),
                seen_before: now.wall,
                evidence,
            });
        }
        recoveries.extend(self.recent.messengers().into_iter().flat_map(|cpu| exonerated(cpu, now)));
        recoveries
    }
}

fn retired_pages(kb: u64, now: &Now) -> DeviceEvent {
    DeviceEvent::of("MemoryPagesRetired", WHOLE, &[("size", &kb)], now.wall)
}
