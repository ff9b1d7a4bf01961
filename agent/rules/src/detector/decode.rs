//! Lines whose meaning is in a table: a rule's decoder decides what is found.

use std::time::Duration;

use nodewell_faults::{
    Branch, Decoded, Decoder,
    xid::history::{Repeated, Written},
};
use nodewell_model::{Finding, FindingKind, Record};

use super::{Detector, Judged};
use crate::{
    matcher::{Blanks, Found},
    rule::Rule,
};

impl Detector {
    /// Adds what the decoder of `rule` finds in a record that its pattern matched.
    pub(super) fn decode(
        &mut self,
        rule: &Rule,
        slot: u32,
        found: &Found<'_>,
        judged: &Judged<'_, '_>,
        out: &mut Vec<Finding>,
    ) {
        let Some(decoder) = rule.decoder else { return };
        let line = String::from_utf8_lossy(judged.haystack.newest(Blanks::Kept));
        self.host.branch = Branch::of_loading_line(&line).or(self.host.branch);
        self.claimed.add(slot);
        let all = judged.set.tables().decode(decoder, &line, &self.host);
        let repeated = self.repeated(decoder, &line, &all, judged.record);
        let findings = all.into_iter().map(|decoded| judged.decoded(rule, found, decoded));
        let findings = findings.chain(repeated.into_iter().map(|repeated| judged.repeated(rule, found, repeated)));
        let news = findings.filter(|finding| !self.is_history(rule, finding.condition.as_ref(), judged.record));
        out.extend(news);
    }

    /// What the Xids of a GPU show together. Test records are none of them.
    fn repeated(&mut self, decoder: Decoder, line: &str, all: &[Decoded], record: &Record<'_>) -> Vec<Repeated> {
        if decoder != Decoder::Xid || record.test {
            return Vec::new();
        }
        let wall = || Duration::from_secs(u64::try_from(record.time.as_second()).unwrap_or(0));
        let written = Written { boot_id: record.boot_id, at: record.since_boot.unwrap_or_else(wall) };
        self.xids.take(line, all, written)
    }
}

impl Judged<'_, '_> {
    fn decoded(&self, rule: &Rule, found: &Found<'_>, decoded: Decoded) -> Finding {
        let Decoded { kind, reason, condition, severity, action, subject } = decoded;
        let lasts = kind == FindingKind::Raise && condition.is_some();
        Finding {
            ends_at_boot: lasts && rule.clears.boot,
            ends_after_quiet: rule.clears.quiet.filter(|_| lasts),
            reason,
            condition,
            severity,
            action: Some(action),
            subject: Some(subject),
            ..self.finding(kind, rule, found)
        }
    }

    fn repeated(&self, rule: &Rule, found: &Found<'_>, repeated: Repeated) -> Finding {
        let Repeated { decoded, message, ends_after_quiet } = repeated;
        Finding { message, ends_after_quiet, ..self.decoded(rule, found, decoded) }
    }
}
