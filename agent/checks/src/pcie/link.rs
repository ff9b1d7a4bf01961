//! Judges a link by what both of its ends can do, and by what it has been.

use std::time::Duration;

use nodewell_model::Severity;
use serde::{Deserialize, Serialize};

use super::reading::{Lanes, Link};
use crate::probe::{
    Fault,
    debounce::{Debounce, DebounceTimes},
};

/// A link that trains again, because its device was reset, is there again within seconds.
const TIMES: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(180), keep_firing_for: Duration::from_secs(300) };

/// What may be judged: drivers of GPUs lower speeds, some of them widths, while there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) width: bool,
    pub(crate) speed: bool,
}

/// What came of it that a person accepts a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepted {
    Link,
    Nothing,
    /// It was not read yet.
    NotYet,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LinkState {
    /// The most that it has run at, since a person accepted less.
    best: Lanes,
    /// What a person accepts, until it runs better; zero for nothing.
    #[serde(default, skip_serializing_if = "Lanes::is_unknown")]
    accepted: Lanes,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    narrow: Debounce,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    slow: Debounce,
    #[serde(skip)]
    last: Option<Link>,
}

impl LinkState {
    /// As a boot leaves it to the next one.
    pub(crate) fn of_new_boot(&self) -> Self {
        Self { best: self.best, accepted: self.accepted, ..Self::default() }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self { last: self.last, ..Self::default() }
    }

    /// Records a reading. One that knows no width has no link at this moment: nothing is learnt from it.
    pub(crate) fn observe(&mut self, link: Link, judged: Judged, now: Duration) {
        if link.now.width == 0 || link.now.speed == 0 {
            return;
        }
        self.best.width = self.best.width.max(link.now.width);
        self.best.speed = self.best.speed.max(link.now.speed);
        for (accepted, now) in [(&mut self.accepted.width, link.now.width), (&mut self.accepted.speed, link.now.speed)]
        {
            if *accepted < now {
                *accepted = 0;
            }
        }
        let most = self.expected(link);
        self.narrow.observe(judged.width && link.now.width < most.width, now, TIMES);
        self.slow.observe(judged.speed && link.now.speed < most.speed, now, TIMES);
        self.last = Some(link);
    }

    /// `device` is what people know it by.
    pub(crate) fn faults(&self, device: &str) -> Vec<Fault> {
        let Some(link) = self.last else { return Vec::new() };
        [self.narrow_fault(link, device), self.slow_fault(link, device)].into_iter().flatten().collect()
    }

    /// It is meant to run as it does: what it has been before is forgotten. Nothing, before it was read in this run,
    /// or while nothing is wrong with it.
    pub(crate) fn accept(&mut self) -> Accepted {
        let Some(link) = self.last else { return Accepted::NotYet };
        if !self.narrow.holds() && !self.slow.holds() {
            return Accepted::Nothing;
        }
        *self = Self { best: link.now, accepted: link.now, last: self.last, ..Self::default() };
        Accepted::Link
    }

    /// What both ends can do, or less if a person accepts that.
    fn expected(&self, link: Link) -> Lanes {
        let most = link.most();
        let within = |most: u32, accepted: u32| if accepted == 0 { most } else { most.min(accepted) };
        Lanes { width: within(most.width, self.accepted.width), speed: within(most.speed, self.accepted.speed) }
    }

    /// As last read.
    pub(crate) fn width(&self) -> Option<u32> {
        self.last.map(|link| link.now.width)
    }

    fn narrow_fault(&self, link: Link, device: &str) -> Option<Fault> {
        let (now, most) = (link.now.width, link.most().width);
        let was_wider = self.best.width > now;
        let key = if was_wider { "PcieLinkNarrow" } else { "PcieLinkNarrow/ever" };
        let fault = || Fault::of(key, &[("width", &now), ("most", &most), ("device", &device)]);
        self.narrow.holds().then(|| graded(fault(), was_wider))
    }

    fn slow_fault(&self, link: Link, device: &str) -> Option<Fault> {
        let (now, most) = (link.now.speed, link.most().speed);
        let was_faster = self.best.speed > now;
        let key = if was_faster { "PcieLinkSlow" } else { "PcieLinkSlow/ever" };
        let fault = || Fault::of(key, &[("speed", &gigas(now)), ("most", &gigas(most)), ("device", &device)]);
        self.slow.holds().then(|| graded(fault(), was_faster))
    }
}

impl Lanes {
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

impl Link {
    /// What both ends can do; zero where one does not report it, which nothing is below.
    fn most(&self) -> Lanes {
        Lanes { width: self.device.width.min(self.port.width), speed: self.device.speed.min(self.port.speed) }
    }
}

/// What has run better has got worse; what never has may be built so.
fn graded(mut fault: Fault, has_been_better: bool) -> Fault {
    if has_been_better {
        fault.severity = Severity::Error;
    }
    fault
}

fn gigas(mega: u32) -> String {
    format!("{}.{}", mega / 1_000, mega % 1_000 / 100)
}
