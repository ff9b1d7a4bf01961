//! Saved logs through the rules: blocks in, findings out. Lines that no rule cares for are only scanned, never parsed.

mod ahead;
mod blocks;
mod clock;
mod dmesg;
mod format;
mod forms;
mod journal;
mod judge;
mod kmsg;
mod lane;
mod lookout;
mod raised;
mod saved;
mod syslog;
mod time;
mod unread;
#[cfg(test)]
mod work;
mod written;

use std::{
    io::{self, Read},
    sync::Arc,
};

use jiff::Timestamp;
use nodewell_model::{Name, Severity};
use serde::Serialize;

use self::{
    ahead::Ahead,
    blocks::{Block, Blocks},
    judge::{Emit, Here, Judge},
    lane::Lanes,
    lookout::Lookout,
    saved::Reading,
    unread::UnreadLines,
};
pub use self::{
    format::Format,
    time::Calendar,
    unread::{Unread, UnreadLine},
};
use crate::{Diagnostic, rule::RuleSet};

/// Runs the rules over saved logs.
pub struct Replay {
    set: Arc<RuleSet>,
    format: Format,
    options: ReplayOptions,
}

/// What a replay is allowed to believe.
#[derive(Debug, Clone, Default)]
pub struct ReplayOptions {
    /// Take kernel-log lines that user space wrote for the kernel's.
    pub any_facility: bool,
    /// Report also what only a live host could prove (a task's cgroup).
    pub unproven: bool,
    /// For times without a year or a zone.
    pub calendar: Calendar,
}

/// One finding of a saved log. As JSON it is an object of these fields, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayFinding {
    /// Counted from 1.
    pub line: u64,
    /// Unknown where the log counts from boot only.
    pub time: Option<Timestamp>,
    /// The monitor that would have reported it.
    pub source: Arc<str>,
    #[serde(rename = "type")]
    pub lasting: ProblemType,
    pub condition: Option<Name>,
    pub reason: Name,
    pub severity: Severity,
    pub subject: Option<String>,
    pub message: String,
    pub kind: ReplayKind,
}

/// Whether a problem is an event only or holds a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemType {
    Temporary,
    Permanent,
}

/// Whether the line shows the problem or its end, or that it ended because nothing repeated it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayKind {
    Raise,
    Clear,
}

impl Replay {
    /// A replay of logs in `format` through the rules of `set`.
    #[must_use]
    pub fn new(set: Arc<RuleSet>, format: Format) -> Self {
        Self { set, format, options: ReplayOptions::default() }
    }

    /// The same with `options`.
    #[must_use]
    pub fn with_options(self, options: ReplayOptions) -> Self {
        Self { options, ..self }
    }

    /// Reads `input` to its end and gives every finding to `emit`, in the order of the lines. Of a long log another
    /// thread looks at parts ahead, where there is a processor for it.
    pub fn run<'a>(&self, input: impl Read + 'a, emit: impl FnMut(&ReplayFinding)) -> Result<Replayed, ReplayError> {
        self.run_by(Ahead::default(), input, emit)
    }

    fn run_by<'a>(
        &self,
        ahead: Ahead,
        input: impl Read + 'a,
        mut emit: impl FnMut(&ReplayFinding),
    ) -> Result<Replayed, ReplayError> {
        let unread = UnreadLines::default();
        let mut blocks = Blocks::new(forms::unwrapped(input, &unread)?);
        let beginning = blocks.peek()?;
        let recognised = self.format.or_detect(beginning);
        // What has no prefix at all may be what `dmesg -t` or `journalctl -o cat` print.
        let format = recognised.unwrap_or(Format::Dmesg);
        let is_labelled = format == Format::Dmesg && format::are_labelled(beginning);
        let is_recognised = is_labelled || recognised.is_some_and(|format| format.is_shown_by(beginning));
        if !is_recognised {
            unread.note_beginning(format::first_lines(beginning));
        }
        let reading = Reading { format, is_labelled, options: &self.options };
        let mut run = Run::new(&self.set, reading, ahead, unread.clone()).map_err(ReplayError::Rules)?;
        blocks.keep_behind(run.lookout.depth() > 1, format == Format::Kmsg);
        while let Some(block) = blocks.next()? {
            run.judge_block(&block, &mut emit);
        }
        let lines = run.judge.end_log(&mut emit);
        Ok(Replayed { lines, is_recognised, unread: unread.take() })
    }
}

/// What came of a replay, beside its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    pub lines: u64,
    /// Whether the first lines showed the format, or it was given and they may be of it.
    pub is_recognised: bool,
    pub unread: Unread,
}

/// Why a replay could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("cannot read the log: {0}")]
    Read(#[from] io::Error),
    #[error("{} rules cannot be used, the first: {}", .0.len(), .0.first().map(ToString::to_string).unwrap_or_default())]
    Rules(Vec<Diagnostic>),
}

/// One run over one input.
struct Run<'a> {
    lookout: Lookout<'a>,
    ahead: Ahead,
    judge: Judge,
}

impl<'a> Run<'a> {
    fn new(
        set: &Arc<RuleSet>,
        reading: Reading<'a>,
        ahead: Ahead,
        unread: UnreadLines,
    ) -> Result<Self, Vec<Diagnostic>> {
        let Lanes { all, detectors, scan } = Lanes::of(set, reading.format)?;
        let lookout = Lookout::new(reading, all, scan);
        let judge = Judge::new(detectors, reading.options.unproven, unread);
        Ok(Self { lookout, ahead, judge })
    }

    fn judge_block(&mut self, block: &Block<'_>, emit: &mut Emit<'_>) {
        let Self { lookout, ahead, judge } = self;
        let here = Here { lookout, block };
        ahead.each_part(here.lookout, block, &mut |notes| judge.judge(here, notes, emit));
        judge.end(here);
    }
}

#[cfg(test)]
mod tests;
