//! From a match to a finding.

use nodewell_model::{
    Finding, FindingKind, RequiredProof,
    text::{self, MESSAGE_LIMIT_BYTES},
};

use super::{Judged, counting::Reached};
use crate::{
    matcher::Found,
    rule::{Proof, Rule},
};

impl Found<'_> {
    /// The subject, made fit to show; an empty one is none.
    pub(super) fn subject_text(&self) -> Option<String> {
        self.subject.map(text::subject).filter(|subject| !subject.is_empty())
    }
}

impl Judged<'_, '_> {
    /// The finding that `rule`'s problem is there; `None` if the proof that the rule asks for cannot even be looked
    /// for.
    pub(super) fn raise(&self, rule: &Rule, found: &Found<'_>, reached: Reached) -> Option<Finding> {
        let required_proof = if self.record.test { RequiredProof::None } else { required_proof(rule.proof, found)? };
        Some(Finding {
            ends_after_quiet: reached.quiet.max(rule.clears.quiet),
            count: reached.count,
            required_proof,
            ..self.finding(FindingKind::Raise, rule, found)
        })
    }

    /// The finding that `rule`'s problem is over.
    pub(super) fn clear(&self, rule: &Rule, found: &Found<'_>) -> Finding {
        self.finding(FindingKind::Clear, rule, found)
    }

    pub(super) fn finding(&self, kind: FindingKind, rule: &Rule, found: &Found<'_>) -> Finding {
        let record = self.record;
        Finding {
            source: rule.monitor.clone(),
            kind,
            condition: rule.condition.clone(),
            reason: rule.reason.clone(),
            subject: found.subject_text(),
            severity: rule.severity,
            message: self.message(rule, found),
            time: self.haystack.time_back(found.back).unwrap_or(record.time),
            last_time: record.time,
            count: 1,
            origin: record.origin.clone(),
            boot_id: record.boot_id,
            ends_after_quiet: None,
            ends_at_boot: rule.clears.boot,
            action: rule.action,
            required_proof: RequiredProof::None,
            test: record.test,
        }
    }

    /// The matched lines, and what Node Problem Detector's files append to them.
    fn message(&self, rule: &Rule, found: &Found<'_>) -> String {
        let mut message = text::message(&self.matched_lines(rule, found));
        if let Some(suffix) = &rule.message_suffix {
            let suffix = text::message(format!("; {suffix}").as_bytes());
            let room = MESSAGE_LIMIT_BYTES.saturating_sub(suffix.len());
            message.truncate(text::cut(&message, room).len());
            message.push_str(&suffix);
        }
        message
    }

    fn matched_lines(&self, rule: &Rule, found: &Found<'_>) -> std::borrow::Cow<'_, [u8]> {
        let blanks = rule.format.into();
        if found.back == 0 {
            return self.haystack.newest(blanks).into();
        }
        let joined = self.haystack.joined(blanks, found.back + 1);
        let first = joined.starts[joined.starts.len() - 1 - found.back];
        joined.bytes[first..].into()
    }
}

fn required_proof(proof: Proof, found: &Found<'_>) -> Option<RequiredProof> {
    match proof {
        Proof::None => Some(RequiredProof::None),
        Proof::NodePlumbing => {
            let pid = std::str::from_utf8(found.pid?).ok()?.parse().ok()?;
            Some(RequiredProof::NodePlumbing { pid })
        }
        Proof::Filesystem => {
            let required_proof = |device| RequiredProof::Filesystem { device };
            Some(found.subject_text().map_or(RequiredProof::None, required_proof))
        }
        Proof::Pod => {
            // systemd's driver has underscores for dashes.
            let uid = |pod: &[u8]| text::subject(pod).replace('_', "-");
            Some(RequiredProof::Pod { uid: uid(found.pod?) })
        }
    }
}
