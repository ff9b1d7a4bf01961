//! What the rules find of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    path::Path,
    sync::Arc,
};

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
    /// Node faults whose label expects what the log does not show: what is right instead is in `disputed.tsv`.
    pub disputed: Family,
    /// Rows of no fault and of an application's: no condition may turn.
    pub unturned: Family,
    /// Logs of healthy machines: no condition may turn.
    pub quiet: Family,
    /// Of the rows of no fault and the healthy logs: those of which nothing was raised, not even an Event. None has to
    /// be.
    pub silent: Family,
    pub families: BTreeMap<String, Family>,
    pub wrong: Vec<Outcome>,
    /// As they may be, and worth a look all the same.
    pub notes: Vec<Outcome>,
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
            Verdict::Node if label.is_disputed => &mut self.disputed,
            Verdict::Node if is_of_crash => &mut self.crashes,
            Verdict::Node => &mut self.field,
            Verdict::Info | Verdict::Application => &mut self.unturned,
        };
        total.add(outcome.is_right);
        self.families.entry(label.family.clone()).or_default().add(outcome.is_right);
        self.list(outcome, label.verdict == Verdict::Info);
    }

    /// Adds what was found of the log of a healthy machine.
    pub fn add_quiet(&mut self, outcome: Outcome) {
        self.quiet.add(outcome.is_right);
        self.list(outcome, true);
    }

    fn list(&mut self, outcome: Outcome, is_of_no_fault: bool) {
        let is_silent = outcome.raised.is_empty();
        if is_of_no_fault {
            self.silent.add(is_silent);
        }
        if !outcome.is_right {
            self.wrong.push(outcome);
        } else if is_of_no_fault && !is_silent {
            self.notes.push(outcome);
        }
    }

    /// Whether so many of a hundred faults of the field were found, all of the crashes and of what is disputed, and no
    /// condition turned in vain.
    #[must_use]
    pub fn is_enough(&self, percent: f64) -> bool {
        let all = [self.crashes, self.disputed, self.unturned, self.quiet];
        self.field.percent() >= percent && all.iter().all(|family| family.right == family.of)
    }
}

/// What a replay has shown.
#[derive(Debug, Default)]
struct Found {
    /// Every reason that was raised, once, in order.
    raised: BTreeSet<String>,
    /// The first line that turned a condition.
    turned: Option<String>,
}

/// Replays the log of `label` as `nodewell replay` does.
pub fn judge(rules: &Arc<RuleSet>, folder: &Path, label: &Label) -> Result<Outcome, ReplayError> {
    let found = replayed(rules, &folder.join("cases").join(&label.file))?;
    let is_right = match (label.verdict, &label.reasons) {
        (Verdict::Node, Some(right)) => found.raised.iter().any(|reason| right.is_match(reason)),
        (Verdict::Node, None) => false,
        (Verdict::Info | Verdict::Application, _) => found.turned.is_none(),
        (Verdict::Optional, _) => true,
    };
    let [file, line, family] = [&label.file, &label.line, &label.family].map(Clone::clone);
    Ok(Outcome { file, line, family, is_right, raised: found.raised.into_iter().collect() })
}

/// Replays the log of a healthy machine: any condition is wrong.
pub fn judge_quiet(rules: &Arc<RuleSet>, log: &Path) -> Result<Outcome, ReplayError> {
    let found = replayed(rules, log)?;
    let file = log.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_right = found.turned.is_none();
    let line = found.turned.unwrap_or_default();
    Ok(Outcome { file, line, family: "quiet".to_owned(), is_right, raised: found.raised.into_iter().collect() })
}

fn replayed(rules: &Arc<RuleSet>, path: &Path) -> Result<Found, ReplayError> {
    let unread =
        |error: io::Error| ReplayError::Read(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
    let log = File::open(path).map_err(unread)?;
    let mut found = Found::default();
    let replay = Replay::new(Arc::clone(rules), Format::Auto).with_options(ReplayOptions::default());
    replay.run(log, |finding| {
        if finding.kind == ReplayKind::Raise {
            found.raised.insert(finding.reason.to_string());
            if finding.lasting == ProblemType::Permanent && found.turned.is_none() {
                found.turned = Some(format!("line {}: {}", finding.line, finding.message));
            }
        }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nodewell_rules::{LoadPlan, load};

    use super::*;

    const PANIC: &str = "[ 1.000000] Kernel panic - not syncing: Fatal exception\n";
    const QUIET: &str = "[ 1.000000] eth0: link becomes ready\n";
    /// Turns a condition.
    const FULL: &str = "[ 1.000000] nf_conntrack: table full, dropping packet\n";
    /// An Event and no more.
    const NOTED: &str = "[ 1.000000] nf_conntrack: expectation table full\n";

    fn scored(rows: &[&str], logs: &[(&str, &str)]) -> Score {
        let folder = tempfile::tempdir().unwrap();
        for sub in ["cases", "quiet"] {
            fs::create_dir(folder.path().join(sub)).unwrap();
        }
        for (path, text) in logs {
            fs::write(folder.path().join(path), text).unwrap();
        }
        fs::write(folder.path().join("expect.tsv"), rows.concat()).unwrap();
        let disputed = folder.path().join("disputed.tsv");
        let disputed = disputed.exists().then_some(disputed);
        let rules = Arc::new(load(&LoadPlan::default()).set);
        let mut score = Score::default();
        for label in crate::read(folder.path(), disputed.as_deref()).unwrap() {
            score.add(&label, judge(&rules, folder.path(), &label).unwrap());
        }
        for log in crate::quiet(folder.path()).unwrap() {
            score.add_quiet(judge_quiet(&rules, &log).unwrap());
        }
        score
    }

    fn sum(family: Family) -> (usize, usize) {
        (family.right, family.of)
    }

    fn named(outcomes: &[Outcome]) -> Vec<(&str, &str)> {
        outcomes.iter().map(|outcome| (&*outcome.file, &*outcome.family)).collect()
    }

    #[test]
    fn what_is_missed_and_what_turns_in_vain_is_wrong() {
        let logs = [
            ("cases/panic.log", PANIC),
            ("cases/quiet.log", QUIET),
            ("cases/full.log", FULL),
            ("cases/noted.log", NOTED),
        ];
        let rows = [
            "panic.log\tline\tsyz-panic\tnode\tkind\tKernelPanic\turl\n",
            "panic.log\tline\tpanic\tnode\tkind\tKernel\turl\n",
            "quiet.log\tline\tquiet\tnode\tkind\t.*\turl\n",
            "quiet.log\tline\tquiet\tinfo\tkind\tnone\turl\n",
            "noted.log\tline\tnoted\tinfo\tkind\tnone\turl\n",
            "noted.log\tline\tnoted\tapp\tkind\tnone\turl\n",
            "full.log\tline\tfull\tinfo\tkind\tnone\turl\n",
            "full.log\tline\tfull\tapp\tkind\tnone\turl\n",
            "quiet.log\tline\tquiet\topt\tkind\tnone\turl\n",
        ];
        let score = scored(&rows, &logs);
        assert_eq!((sum(score.crashes), sum(score.field)), ((1, 1), (0, 2)));
        assert_eq!((sum(score.unturned), sum(score.silent)), ((3, 5), (1, 3)));
        assert_eq!(
            named(&score.wrong),
            [("panic.log", "panic"), ("quiet.log", "quiet"), ("full.log", "full"), ("full.log", "full")]
        );
        assert_eq!(named(&score.notes), [("noted.log", "noted")]);
    }

    #[test]
    fn a_disputed_row_is_counted_by_itself() {
        let row = "a.log\tline\tsatyr-oops\tnode\tkind\tKernelOops\turl\n";
        for (reason, right) in [("KernelPanic", 1), ("KernelOops", 0)] {
            let disputed = format!("url\t{reason}\tit is a panic\n");
            let score = scored(&[row], &[("cases/a.log", PANIC), ("disputed.tsv", &disputed)]);
            assert_eq!((sum(score.disputed), sum(score.crashes)), ((right, 1), (0, 0)));
            assert_eq!(score.is_enough(95.0), right == 1);
        }
    }

    #[test]
    fn a_healthy_log_may_turn_no_condition() {
        let healthy = scored(&[], &[("quiet/a.log", QUIET), ("quiet/b.log", NOTED)]);
        assert_eq!((sum(healthy.quiet), sum(healthy.silent)), ((2, 2), (1, 2)));
        assert!(healthy.is_enough(95.0) && named(&healthy.notes) == [("b.log", "quiet")]);
        let full = format!("{QUIET}{FULL}");
        let wrong = scored(&[], &[("quiet/a.log", QUIET), ("quiet/full.log", &full)]);
        assert_eq!((sum(wrong.quiet), named(&wrong.wrong)), ((1, 2), vec![("full.log", "quiet")]));
        assert!(!wrong.is_enough(95.0) && wrong.wrong[0].line.starts_with("line 2: nf_conntrack"));
    }

    #[test]
    fn an_event_of_no_fault_is_enough_and_a_condition_is_not() {
        let row = |file: &str| format!("{file}\tline\tfamily\tinfo\tkind\tnone\turl\n");
        for (text, is_enough) in [(QUIET, true), (NOTED, true), (FULL, false)] {
            assert_eq!(scored(&[&row("a.log")], &[("cases/a.log", text)]).is_enough(95.0), is_enough, "{text}");
        }
    }
}
