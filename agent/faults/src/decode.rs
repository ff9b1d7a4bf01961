//! Decodes a line of a log by the tables: what a rule's `decoder` does.

mod example;
#[cfg(test)]
mod tests;

use std::{
    path::Path,
    sync::{Arc, LazyLock},
};

use nodewell_model::{Action, FindingKind, Name, Severity};

use crate::{
    Branch, Host,
    codes::{Meaning, OverrideError, Overrides, overrides},
    nvlink5, sxid, xid,
};

/// The Xid by which the driver reports what a GPU needs.
const RECOVERY: u32 = 154;
/// A link's error, with registers.
const NVLINK: u32 = 74;

/// A decoder that a rule can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decoder {
    Xid,
    Sxid,
}

/// The tables that decoders go by.
#[derive(Debug, Clone)]
pub struct Tables {
    pub xids: xid::Table,
    pub sxids: sxid::Table,
}

/// One thing that a line reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    pub kind: FindingKind,
    pub reason: Name,
    pub condition: Option<Name>,
    pub severity: Severity,
    pub action: Action,
    /// A PCI address, as the kernel writes it.
    pub subject: String,
}

impl Decoder {
    pub const ALL: [Self; 2] = [Self::Xid, Self::Sxid];

    /// Its name in rule files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Xid => "nvidia-xid",
            Self::Sxid => "nvidia-sxid",
        }
    }

    /// Whether `reason` is one of its reasons.
    #[must_use]
    pub fn gives(self, reason: &Name) -> bool {
        let prefix = match self {
            Self::Xid => xid::PREFIX,
            Self::Sxid => sxid::PREFIX,
        };
        let number = reason.as_str().strip_prefix(prefix);
        number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    }
}

impl Tables {
    /// The shipped ones.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        static SHIPPED: LazyLock<Arc<Tables>> = LazyLock::new(|| {
            Arc::new(Tables { xids: xid::Table::shipped().clone(), sxids: sxid::Table::shipped().clone() })
        });
        Arc::clone(&SHIPPED)
    }

    /// The text of an operator's overrides.
    pub fn overrides(path: &Path) -> Result<String, OverrideError> {
        overrides::read(path)
    }

    /// The shipped ones with the overrides of `text`, the content of `path`.
    pub fn merged(text: &str, path: &Path) -> Result<Self, OverrideError> {
        let overrides = Overrides::parse(text, path)?;
        let shipped = Self::shipped();
        let xids = shipped.xids.merged(&overrides, path)?;
        Ok(Self { xids, sxids: shipped.sxids.merged(&overrides, path)? })
    }

    /// What `line` reports on `host`: nothing, one thing, or several that it ends.
    #[must_use]
    pub fn decode(&self, decoder: Decoder, line: &str, host: &Host) -> Vec<Decoded> {
        match decoder {
            Decoder::Xid => xid::Line::parse(line).map(|line| self.xid(&line, host)).unwrap_or_default(),
            Decoder::Sxid => sxid::Line::parse(line).map(|line| self.sxid(&line)).into_iter().collect(),
        }
    }

    /// What the reason of that name means, of whichever table.
    #[must_use]
    pub fn named(&self, reason: &str) -> Option<Meaning> {
        self.xids.codes().named(reason).or_else(|| self.sxids.codes().named(reason))
    }

    fn sxid(&self, line: &sxid::Line) -> Decoded {
        Decoded::raise(self.sxids.classify(line.code, line.is_fatal), &line.address)
    }

    fn xid(&self, line: &xid::Line<'_>, host: &Host) -> Vec<Decoded> {
        let branch = host.branch;
        let Some(meaning) = self.xids.classify(line.code, branch) else { return Vec::new() };
        if line.code == RECOVERY {
            return self.recovery(line, meaning, branch);
        }
        let meaning = if line.code == NVLINK { registered(meaning, line, host) } else { linked(meaning, line, branch) };
        let raise = Decoded::raise(meaning, &line.address);
        let ended = xid::ends(line.code).and_then(|code| self.clear(code, &line.address, branch));
        [raise].into_iter().chain(ended).collect()
    }

    /// Xid 154: the driver's latest report of what the GPU needs.
    fn recovery(&self, line: &xid::Line<'_>, meaning: Meaning, branch: Option<Branch>) -> Vec<Decoded> {
        let raise = |meaning| vec![Decoded::raise(meaning, &line.address)];
        match xid::Recovery::changed_to(line.rest) {
            Some(xid::Recovery::None) => self.recovered(&line.address, branch),
            Some(recovery) => raise(meaning.needing(recovery.severity(), recovery.action())),
            // Cut, or an unknown text: it shows only that something changed.
            None => raise(meaning),
        }
    }

    /// The GPU needs nothing any more: what asked for a reset is over. What asks for a reboot ends with one.
    fn recovered(&self, address: &str, branch: Option<Branch>) -> Vec<Decoded> {
        let over = |meaning: &Meaning| meaning.code == RECOVERY || meaning.wants_reset();
        let all = self.xids.codes().all_of(branch).filter(over);
        all.flat_map(|meaning| Decoded::clears(&meaning, address)).collect()
    }

    fn clear(&self, code: u32, address: &str, branch: Option<Branch>) -> Option<Decoded> {
        Decoded::clears(&self.xids.classify(code, branch)?, address).into_iter().next()
    }
}

/// The registers of Xid 74, which are known of Hoppers alone.
fn registered(meaning: Meaning, line: &xid::Line<'_>, host: &Host) -> Meaning {
    let shown = xid::nvlink::shown(line.rest).filter(|_| host.hoppers.contains(&line.address));
    match shown {
        Some(xid::nvlink::Shown::Harmless) => meaning.with_fatal(false),
        Some(xid::nvlink::Shown::Mechanical) => meaning.acting(Action::InspectHardware),
        None => meaning,
    }
}

/// An Xid of NVLink 5 is as bad as its line states; the catalogue knows what to do.
fn linked(meaning: Meaning, line: &xid::Line<'_>, branch: Option<Branch>) -> Meaning {
    let Some(report) = line.nvlink5() else { return meaning };
    let by_line = meaning.fatal.is_some();
    let meaning = meaning.with_fatal(report.is_fatal);
    let Some(entry) = nvlink5::look_up(line.code, &report, branch).filter(|_| by_line) else { return meaning };
    if !report.is_fatal && entry.is_harmless() {
        return meaning.harmless();
    }
    // A reset that the catalogue asks for where the line reports no loss would drain for nothing.
    match entry.action().filter(|action| report.is_fatal || *action != Action::ResetGpu) {
        Some(action) => meaning.acting(action),
        None => meaning,
    }
}

impl Decoded {
    fn raise(meaning: Meaning, address: &str) -> Self {
        Self {
            kind: FindingKind::Raise,
            reason: meaning.reason,
            condition: meaning.condition,
            severity: meaning.severity,
            action: meaning.action,
            subject: address.to_owned(),
        }
    }

    /// The ends of what `meaning` may hold.
    fn clears(meaning: &Meaning, address: &str) -> Vec<Self> {
        let conditions = meaning.conditions();
        let clear = |condition: Name| Self {
            kind: FindingKind::Clear,
            condition: Some(condition),
            ..Self::raise(meaning.clone(), address)
        };
        conditions.into_iter().map(clear).collect()
    }
}
