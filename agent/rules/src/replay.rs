//! Saved logs through the rules: blocks in, findings out. Lines that no rule cares for are only scanned, never parsed.

mod blocks;
mod clock;
mod dmesg;
mod format;
mod forms;
mod journal;
mod kmsg;
mod lane;
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
use nodewell_model::{Finding, FindingKind, Name, RequiredProof, Severity};
use serde::Serialize;

use self::{
    blocks::{Block, Blocks},
    clock::Clock,
    lane::{Behind, Lane, Lanes, Line},
    raised::Raised,
    saved::{Boots, Reading, Saved},
    unread::UnreadLines,
};
pub use self::{
    format::Format,
    time::Calendar,
    unread::{Unread, UnreadLine},
};
use crate::{
    Diagnostic,
    matcher::Scan,
    rule::{Rule, RuleSet},
};

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

    /// Reads `input` to its end and gives every finding to `emit`, in the order of the lines.
    pub fn run<'a>(
        &self,
        input: impl Read + 'a,
        mut emit: impl FnMut(&ReplayFinding),
    ) -> Result<Replayed, ReplayError> {
        let unread = UnreadLines::default();
        let mut blocks = Blocks::new(forms::unwrapped(input, &unread)?);
        let beginning = blocks.peek()?;
        let recognised = self.format.or_detect(beginning);
        let is_recognised = recognised.is_some_and(|format| format.is_shown_by(beginning));
        if !is_recognised {
            unread.note_beginning(format::first_lines(beginning));
        }
        // What has no prefix at all may be what `dmesg -t` or `journalctl -o cat` print.
        let format = recognised.unwrap_or(Format::Dmesg);
        let mut run = Run::new(self, format, unread).map_err(ReplayError::Rules)?;
        blocks.keep_behind(run.deepest > 1, format == Format::Kmsg);
        while let Some(block) = blocks.next()? {
            run.judge_block(&block, &mut emit);
        }
        run.end_quiet(run.clock.last(), run.line, &mut emit);
        Ok(Replayed { lines: run.line, is_recognised, unread: run.unread.take() })
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
    options: &'a ReplayOptions,
    format: Format,
    lanes: Vec<Lane>,
    scan: Scan,
    /// Where the current line begins in its block.
    line_begin: usize,
    /// The windows in the current line.
    seen: Vec<u32>,
    /// Some rule has to see every line.
    every_line: bool,
    deepest: usize,
    boots: Boots,
    raised: Raised,
    clock: Clock,
    /// Newlines before `counted` of the current block.
    line: u64,
    counted: usize,
    findings: Vec<Finding>,
    unread: UnreadLines,
}

impl<'a> Run<'a> {
    fn new(replay: &'a Replay, format: Format, unread: UnreadLines) -> Result<Self, Vec<Diagnostic>> {
        let Lanes { all: lanes, scan } = Lanes::of(&replay.set, format)?;
        Ok(Self {
            options: &replay.options,
            format,
            every_line: lanes.iter().any(|lane| lane.detector.slow_lane().next().is_some()),
            deepest: lanes.iter().map(|lane| lane.detector.matcher().depth()).max().unwrap_or(1),
            scan,
            line_begin: 0,
            seen: Vec::new(),
            lanes,
            boots: Boots::default(),
            raised: Raised::default(),
            clock: Clock::default(),
            line: 0,
            counted: 0,
            findings: Vec::new(),
            unread,
        })
    }

    fn judge_block(&mut self, block: &Block<'_>, emit: &mut dyn FnMut(&ReplayFinding)) {
        self.counted = block.fresh.start;
        let scan = std::mem::take(&mut self.scan);
        if self.every_line {
            self.judge_every_line(&scan, block, emit);
        } else {
            self.judge_hits(&scan, block, emit);
        }
        self.scan = scan;
        self.count_to(block, block.fresh.end);
        if self.raised.waits() {
            // No rule may care for the lines that show how long the log goes on.
            self.clock.look_at_end_of(block, self.reading());
        }
        // A last line without a newline is a line too.
        if block.fresh.end > block.fresh.start && block.bytes[block.fresh.end - 1] != b'\n' {
            self.line += 1;
        }
    }

    fn judge_every_line(&mut self, scan: &Scan, block: &Block<'_>, emit: &mut dyn FnMut(&ReplayFinding)) {
        let mut start = block.fresh.start;
        while start < block.fresh.end {
            let end = block.line_end(start);
            self.look_at(scan, &block.bytes[start..end], 0);
            self.judge_line(scan, block, start, end, emit);
            start = end + 1;
        }
    }

    fn judge_hits(&mut self, scan: &Scan, block: &Block<'_>, emit: &mut dyn FnMut(&ReplayFinding)) {
        let mut cursor = scan.cursor(&block.bytes[..block.fresh.end]);
        let mut at = block.fresh.start;
        while at < block.fresh.end {
            let Some(hit) = cursor.next_from(at) else { break };
            let start = block.line_start(at, hit);
            let end = block.line_end(hit);
            // The pass goes on from the first hit to the end of the line; what is in it is not searched again.
            self.look_at(scan, &block.bytes[start..end], hit - start);
            self.judge_line(scan, block, start, end, emit);
            at = end + 1;
        }
    }

    /// Notes the windows in `line` at `from` or behind it.
    fn look_at(&mut self, scan: &Scan, line: &[u8], from: usize) {
        self.seen.clear();
        scan.each(line, from, |window| self.seen.push(window));
    }

    /// A console shows lines of two processors that it was given at once as one. Each part is judged by its own
    /// windows: by those of all parts a line of very many would take the square of them.
    fn judge_line(
        &mut self,
        scan: &Scan,
        block: &Block<'_>,
        start: usize,
        end: usize,
        emit: &mut dyn FnMut(&ReplayFinding),
    ) {
        self.line_begin = start;
        let mut part = start;
        while let Some(length) = self.part_behind(&block.bytes[part..end]) {
            self.look_at(scan, &block.bytes[part..part + length], 0);
            self.judge_record(block, part, part + length, emit);
            part += length;
        }
        if part > start {
            self.look_at(scan, &block.bytes[part..end], 0);
        }
        self.judge_record(block, part, end, emit);
    }

    /// Where the next part of a torn line begins.
    fn part_behind(&self, line: &[u8]) -> Option<usize> {
        if self.format != Format::Dmesg {
            return None;
        }
        let next = dmesg::second_stamp(line);
        #[cfg(test)]
        work::searched(next.unwrap_or(line.len()));
        next
    }

    fn judge_record(&mut self, block: &Block<'_>, start: usize, end: usize, emit: &mut dyn FnMut(&ReplayFinding)) {
        let reading = self.reading();
        let saved = reading.read(block.bytes, start, end);
        let line = &block.bytes[start..end];
        let is_strange = reading.is_unread(line, saved.as_ref());
        let at = saved.as_ref().and_then(|saved| self.note(saved));
        let awake = saved.as_ref().filter(|saved| self.wakes(saved));
        let is_over = at.is_some_and(|now| self.raised.is_due(now));
        // Most lines that are looked at wake no rule: of those not even the number is asked for.
        if awake.is_none() && !is_over && !is_strange {
            return;
        }
        self.count_to(block, start);
        self.end_quiet(at, self.line + 1, emit);
        let before = &block.bytes[..start];
        let is_found = awake.is_some_and(|saved| self.judge_saved(saved, at, before, is_strange, emit));
        if is_strange && !is_found {
            self.unread.note(self.line + 1, line);
        }
    }

    /// Takes note of the boot and the time of a line, which is its time.
    fn note(&mut self, saved: &Saved<'_>) -> Option<Timestamp> {
        if self.boots.begins_with(saved) {
            self.lanes.iter_mut().for_each(|lane| lane.detector.forget());
            self.raised.boot(self.clock.is_dated());
        }
        self.clock.read(saved)
    }

    /// Whether some rule may find something in a line. Each lane takes note of it.
    fn wakes(&mut self, saved: &Saved<'_>) -> bool {
        self.lanes.iter_mut().fold(false, |any, lane| lane.wakes(saved, &self.seen) | any)
    }

    /// Whether anything was found in it, the line behind `before`. In a strange one everything is looked for, and else
    /// nothing that would not be reported: healthy boots are full of recovery lines.
    fn judge_saved(
        &mut self,
        saved: &Saved<'_>,
        at: Option<Timestamp>,
        before: &[u8],
        is_strange: bool,
        emit: &mut dyn FnMut(&ReplayFinding),
    ) -> bool {
        let number = self.line + 1;
        let behind = Behind { bytes: before, line: self.line_begin, reading: self.reading(), sequence: saved.sequence };
        let raised = &self.raised;
        let hears_end = |rule: &Rule| is_strange || raised.hears_end(rule.condition.as_ref(), &rule.reason);
        let line = Line { saved, number, hears_end: &hears_end };
        for lane in &mut self.lanes {
            lane.judge(&line, &behind, &mut self.findings);
        }
        let (is_found, unproven) = (!self.findings.is_empty(), self.options.unproven);
        for finding in self.findings.drain(..).filter(|finding| unproven || is_believable(finding)) {
            if self.raised.admits(&finding, at) {
                emit(&shown(finding, number, saved));
            }
        }
        is_found
    }

    fn reading(&self) -> Reading<'a> {
        Reading { format: self.format, options: self.options }
    }

    /// Reports what is over by the time of line `number`.
    fn end_quiet(&mut self, now: Option<Timestamp>, number: u64, emit: &mut dyn FnMut(&ReplayFinding)) {
        let Some(now) = now else { return };
        while let Some(over) = self.raised.over(now, number, self.clock.is_dated()) {
            emit(&over);
        }
    }

    fn count_to(&mut self, block: &Block<'_>, end: usize) {
        let newlines = memchr::memchr_iter(b'\n', &block.bytes[self.counted..end]).count();
        self.line += newlines as u64;
        self.counted = end;
    }
}

/// A task's cgroup cannot be looked up in a saved log; whose filesystem it was is left to the reader.
fn is_believable(finding: &Finding) -> bool {
    !matches!(finding.required_proof, RequiredProof::NodePlumbing { .. })
}

fn shown(finding: Finding, line: u64, saved: &Saved<'_>) -> ReplayFinding {
    ReplayFinding {
        line,
        time: saved.time.map(|_| finding.time),
        source: finding.source,
        lasting: if finding.condition.is_some() { ProblemType::Permanent } else { ProblemType::Temporary },
        condition: finding.condition,
        reason: finding.reason,
        severity: finding.severity,
        subject: finding.subject,
        message: finding.message,
        kind: match finding.kind {
            FindingKind::Raise => ReplayKind::Raise,
            FindingKind::Clear => ReplayKind::Clear,
        },
    }
}

#[cfg(test)]
mod tests;
