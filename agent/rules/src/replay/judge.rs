//! The records of a log, judged one after the other: what came before them decides what is reported.

use jiff::Timestamp;
use nodewell_model::{Finding, FindingKind, RequiredProof};

use super::{
    ProblemType, ReplayFinding, ReplayKind,
    blocks::Block,
    clock::Clock,
    lane::{Behind, Line},
    lookout::{Lookout, Noted, Notes, Patterns},
    raised::Raised,
    saved::{Boots, Saved},
    unread::UnreadLines,
};
use crate::{detector::Detector, rule::Rule};

/// Takes findings.
pub(super) type Emit<'e> = dyn FnMut(&ReplayFinding) + 'e;

/// What is known of a log so far.
pub(super) struct Judge {
    /// Those of the lanes.
    detectors: Vec<Detector>,
    /// Report also what only a live host could prove.
    unproven: bool,
    boots: Boots,
    raised: Raised,
    clock: Clock,
    /// Lines before the current part.
    lines: u64,
    findings: Vec<Finding>,
    unread: UnreadLines,
}

/// Where the records are that are judged.
#[derive(Clone, Copy)]
pub(super) struct Here<'h> {
    pub(super) lookout: &'h Lookout<'h>,
    pub(super) block: &'h Block<'h>,
}

impl Judge {
    pub(super) fn new(detectors: Vec<Detector>, unproven: bool, unread: UnreadLines) -> Self {
        let (boots, raised, clock, lines, findings) = Default::default();
        Self { detectors, unproven, boots, raised, clock, lines, findings, unread }
    }

    /// Judges the records of a part of the block.
    pub(super) fn judge(&mut self, here: Here<'_>, notes: &Notes<'_>, emit: &mut Emit<'_>) {
        for (noted, patterns) in notes.records() {
            self.judge_record(here, noted, patterns, emit);
        }
        self.lines += notes.newlines;
    }

    /// The block is judged.
    pub(super) fn end(&mut self, Here { lookout, block }: Here<'_>) {
        if self.raised.waits() {
            // No rule may care for the lines that show how long the log goes on.
            self.clock.look_at_end_of(block, lookout.reading);
        }
        // A last line without a newline is a line too.
        if block.fresh.end > block.fresh.start && block.bytes[block.fresh.end - 1] != b'\n' {
            self.lines += 1;
        }
    }

    /// The log ends; how many lines it has.
    pub(super) fn end_log(&mut self, emit: &mut Emit<'_>) -> u64 {
        self.end_quiet(self.clock.last(), self.lines, emit);
        self.lines
    }

    fn judge_record(&mut self, here: Here<'_>, noted: &Noted<'_>, patterns: Patterns<'_>, emit: &mut Emit<'_>) {
        let Noted { place, saved, is_strange, .. } = noted;
        let at = saved.as_ref().and_then(|saved| self.note(saved));
        let awake = saved.as_ref().filter(|_| patterns.is_any());
        let is_over = at.is_some_and(|now| self.raised.is_due(now));
        let number = self.number(noted);
        if is_over {
            self.end_quiet(at, number, emit);
        }
        let is_found = awake.is_some_and(|saved| {
            self.find(here, noted, saved, patterns);
            self.report(number, saved, at, emit)
        });
        if *is_strange && !is_found {
            self.unread.note(number, &here.block.bytes[place.clone()]);
        }
    }

    /// Of its line, counted from 1.
    fn number(&self, noted: &Noted<'_>) -> u64 {
        self.lines + noted.newlines + 1
    }

    /// Takes note of the boot and the time of a line, which is its time.
    fn note(&mut self, saved: &Saved<'_>) -> Option<Timestamp> {
        if self.boots.begins_with(saved) {
            self.detectors.iter_mut().for_each(Detector::forget);
            self.raised.boot(self.clock.is_dated());
        }
        self.clock.read(saved)
    }

    /// Finds what there is in a record. In a strange one everything is looked for, and else nothing that would not be
    /// reported: healthy boots are full of recovery lines.
    fn find(&mut self, here: Here<'_>, noted: &Noted<'_>, saved: &Saved<'_>, patterns: Patterns<'_>) {
        let (number, raised) = (self.number(noted), &self.raised);
        let before = &here.block.bytes[..noted.place.start];
        let reading = here.lookout.reading;
        let behind = Behind { bytes: before, line: noted.line, reading, sequence: saved.sequence };
        let hears_end = |rule: &Rule| noted.is_strange || raised.hears_end(rule.condition.as_ref(), &rule.reason);
        let lanes = here.lookout.lanes.iter().zip(&mut self.detectors);
        for ((lane, detector), picked) in lanes.zip(patterns.of_lanes()) {
            let line = Line { saved, picked, number, hears_end: &hears_end };
            lane.judge(detector, &line, &behind, &mut self.findings);
        }
    }

    /// Reports what was found in a record of line `number`; whether anything was.
    fn report(&mut self, number: u64, saved: &Saved<'_>, at: Option<Timestamp>, emit: &mut Emit<'_>) -> bool {
        let (is_found, unproven) = (!self.findings.is_empty(), self.unproven);
        for finding in self.findings.drain(..).filter(|finding| unproven || is_believable(finding)) {
            if self.raised.admits(&finding, at) {
                emit(&shown(finding, number, saved));
            }
        }
        is_found
    }

    /// Reports what is over by the time of line `number`.
    fn end_quiet(&mut self, now: Option<Timestamp>, number: u64, emit: &mut Emit<'_>) {
        let Some(now) = now else { return };
        while let Some(over) = self.raised.over(now, number, self.clock.is_dated()) {
            emit(&over);
        }
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
