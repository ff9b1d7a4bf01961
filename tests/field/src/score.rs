//! What the rules find of it.

use std::{collections::BTreeMap, fs::File, io, path::Path, sync::Arc};

use nodewell_rules::{
    Format, Replay, ReplayOptions, RuleSet,
    replay::{ProblemType, ReplayError, ReplayKind},
};
use serde::Serialize;

use crate::{Label, Verdict};

/// The families of logs that come from collections of kernel crashes, and not from the field.
const CRASH_CORPORA: [&str; 4] = ["syz-", "lkp-", "satyr-", "abrt-"];

/// One log against its label.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    pub file: String,
    pub line: String,
    pub family: String,
    pub is_right: bool,
    /// Every reason that was raised, once.
    pub raised: Vec<String>,
}

/// Rows of one family.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Family {
    pub right: usize,
    pub of: usize,
}

/// All rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Score {
    /// Node faults whose logs come from the field.
    pub field: Family,
    /// Node faults of collections of crashes.
    pub crashes: Family,
    /// Rows of which nothing may be raised, or no condition turned.
    pub silent: Family,
    pub families: BTreeMap<String, Family>,
    pub wrong: Vec<Outcome>,
}

impl Family {
    fn add(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.of += 1;
    }

    /// Of a hundred; all, if there are none.
    #[must_use]
    pub fn percent(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a count of files")]
        if self.of == 0 { 100.0 } else { 100.0 * self.right as f64 / self.of as f64 }
    }
}

impl Score {
    /// Adds what was found of one row; an arguable one is right as it is, and not counted.
    pub fn add(&mut self, label: &Label, outcome: Outcome) {
        let is_of_crash = CRASH_CORPORA.iter().any(|corpus| label.family.starts_with(corpus));
        let total = match label.verdict {
            Verdict::Optional => return,
            Verdict::Node if is_of_crash => &mut self.crashes,
            Verdict::Node => &mut self.field,
            Verdict::Info | Verdict::Application => &mut self.silent,
        };
        total.add(outcome.is_right);
        self.families.entry(label.family.clone()).or_default().add(outcome.is_right);
        if !outcome.is_right {
            self.wrong.push(outcome);
        }
    }
}

/// Replays the log of `label` as `nodewell replay` does.
pub fn judge(rules: &Arc<RuleSet>, folder: &Path, label: &Label) -> Result<Outcome, ReplayError> {
    let log = File::open(folder.join("cases").join(&label.file))
        .map_err(|error| ReplayError::Read(io::Error::new(error.kind(), format!("{}: {error}", label.file))))?;
    let (mut raised, mut turns): (Vec<String>, bool) = (Vec::new(), false);
    let replay = Replay::new(Arc::clone(rules), Format::Auto).with_options(ReplayOptions::default());
    replay.run(log, |finding| {
        if finding.kind == ReplayKind::Raise {
            turns |= finding.lasting == ProblemType::Permanent;
            raised.push(finding.reason.to_string());
        }
    })?;
    raised.sort();
    raised.dedup();
    let is_right = match label.verdict {
        Verdict::Node => label.reasons.as_ref().is_some_and(|right| raised.iter().any(|reason| right.is_match(reason))),
        Verdict::Info => raised.is_empty(),
        Verdict::Application => !turns,
        Verdict::Optional => true,
    };
    Ok(Outcome { file: label.file.clone(), line: label.line.clone(), family: label.family.clone(), is_right, raised })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nodewell_rules::{LoadPlan, load};

    use super::*;

    #[test]
    fn what_is_missed_and_what_is_raised_in_vain_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
        fs::create_dir(folder.path().join("cases")).unwrap();
        let panic = "[ 1.000000] Kernel panic - not syncing: Fatal exception\n";
        write("cases/panic.log", panic);
        write("cases/quiet.log", "[ 1.000000] eth0: link becomes ready\n");
        write("cases/full.log", "[ 1.000000] nf_conntrack: table full, dropping packet\n");
        let row = |file: &str, family: &str, verdict: &str, reasons: &str| {
            format!("{file}.log\tline\t{family}\t{verdict}\tkind\t{reasons}\turl\n")
        };
        let table = [
            row("panic", "syz-panic", "node", "KernelPanic"),
            row("panic", "panic", "node", "Kernel"),
            row("quiet", "quiet", "node", ".*"),
            row("quiet", "quiet", "info", "none"),
            row("panic", "panic", "info", "none"),
            row("panic", "panic", "app", "none"),
            row("full", "full", "app", "none"),
            row("quiet", "quiet", "opt", "none"),
        ];
        write("expect.tsv", &table.concat());
        let rules = Arc::new(load(&LoadPlan::default()).set);
        let mut score = Score::default();
        for label in crate::read(folder.path()).unwrap() {
            score.add(&label, judge(&rules, folder.path(), &label).unwrap());
        }
        let sum = |family: Family| (family.right, family.of);
        assert_eq!((sum(score.crashes), sum(score.field), sum(score.silent)), ((1, 1), (0, 2), (2, 4)));
        let wrong: Vec<_> = score.wrong.iter().map(|outcome| (&*outcome.file, &*outcome.family)).collect();
        assert_eq!(
            wrong,
            [("panic.log", "panic"), ("quiet.log", "quiet"), ("panic.log", "panic"), ("full.log", "full")]
        );
    }
}
