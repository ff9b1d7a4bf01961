//! What the shipped rules find of what a rule of Node Problem Detector's stock files finds: they are run on its lines.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{Finding, FindingKind, Name, Origin, Record};
use serde::Deserialize;

use crate::{
    Detector, RuleSet,
    draft::ReaderDraft,
    duration,
    load::{LoadPlan, Prose, load},
    plugin::{Component, HealthChecker, PluginTask},
    rule::{FieldFilter, Reader, Rule},
};

const STOCK: &str = include_str!("stock.toml");

/// The entries of `stock.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    stock: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) reason: Name,
    pub(super) from: String,
    pub(super) patterns: Vec<String>,
    pub(super) count: Option<u32>,
    window: Option<String>,
    pub(super) lines: Vec<String>,
    #[serde(default)]
    fields: BTreeMap<String, String>,
    #[serde(default)]
    instead: Vec<String>,
    #[serde(default)]
    pub(super) note: String,
}

/// What a shipped rule makes of a line: its reason, and the condition that it holds.
pub(super) type Found = (Name, Option<Name>);

/// The shipped rules, ready to be run, and the lines to run them on.
pub(super) struct Shipped {
    kmsg: Detector,
    journal: Detector,
    entries: Vec<Entry>,
}

/// Whose lines a rule reads: the kernel's, or those of a program by its name in the journal.
pub(super) fn from(reader: &ReaderDraft, fields: &FieldFilter) -> Option<String> {
    match reader {
        ReaderDraft::Known(Reader::Kmsg) => Some("kernel".to_owned()),
        ReaderDraft::Known(Reader::Journal { directory: None }) => match fields.require.as_slice() {
            [(field, values)] if field == "SYSLOG_IDENTIFIER" => values.first().cloned(),
            _ => None,
        },
        // What syslog writes of the kernel's log.
        ReaderDraft::Known(Reader::File(file))
            if file.message.as_ref().is_some_and(|message| message.contains("kernel:")) =>
        {
            Some("kernel".to_owned())
        }
        ReaderDraft::Known(_) | ReaderDraft::Named(_) => None,
    }
}

impl Shipped {
    pub(super) fn new() -> Self {
        let plan = LoadPlan { prose: Prose::SkimShipped, ..LoadPlan::default() };
        let set = Arc::new(load(&plan).set);
        let file: File = toml::from_str(STOCK).expect("the tests read this part of the program");
        let (kmsg, journal) = (detector(&set, &Reader::Kmsg), detector(&set, &Reader::Journal { directory: None }));
        Self { kmsg, journal, entries: file.stock }
    }

    /// The entry of a stock rule that is as it was shipped.
    pub(super) fn entry(&self, rule: &Rule, from: &str) -> Option<usize> {
        let counting = rule.counting.as_ref().map(|counting| (counting.count, counting.window));
        let is_it = |entry: &Entry| {
            entry.reason == rule.reason
                && entry.from == from
                && rule.patterns.iter().all(|pattern| entry.patterns.contains(pattern))
                && entry.counting() == counting
        };
        let is_stock = rule.message_suffix.is_none() && rule.fields.without.is_empty();
        self.entries.iter().position(is_it).filter(|_| is_stock)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the shipped rules find; `None` if there is a line of the entry that they do not find, or if none of what
    /// they find holds `condition`.
    pub(super) fn found(&mut self, entry: usize, condition: Option<&Name>) -> Option<Vec<Found>> {
        let Self { kmsg, journal, entries } = self;
        let entry = entries.get(entry)?;
        let detector = if entry.from == "kernel" { kmsg } else { journal };
        let mut all: Vec<Found> = Vec::new();
        for line in if entry.instead.is_empty() { &entry.lines } else { &entry.instead } {
            let found = run(detector, line, &entry.fields, entry.count.unwrap_or(1));
            if found.is_empty() {
                return None;
            }
            all.extend(found);
        }
        all.sort();
        all.dedup();
        let holds = |found: &Found| condition.is_none() || found.1.as_ref() == condition;
        all.iter().any(holds).then_some(all)
    }
}

impl Entry {
    fn counting(&self) -> Option<(u32, Duration)> {
        self.count.zip(self.window.as_deref().and_then(|window| duration::parse(window).ok()))
    }
}

fn detector(set: &Arc<RuleSet>, reader: &Reader) -> Detector {
    let index = set.readers.iter().position(|known| known == reader);
    let detector = index.and_then(|index| Detector::new(Arc::clone(set), index).ok());
    detector.expect("the shipped rules are good, and listen to both logs")
}

/// What comes of the last of so many equal records.
fn run(detector: &mut Detector, line: &str, fields: &BTreeMap<String, String>, count: u32) -> Vec<Found> {
    let fields: Vec<(String, Vec<u8>)> =
        fields.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let record = Record {
        time: Timestamp::UNIX_EPOCH,
        since_boot: None,
        boot_id: None,
        origin: Origin::Line { number: 1 },
        text: line.as_bytes(),
        fields: &fields,
        test: false,
    };
    let mut found: Vec<Finding> = Vec::new();
    detector.forget();
    for _ in 0..count {
        found.clear();
        detector.push(&record, &mut found);
    }
    let raised = found.into_iter().filter(|finding| finding.kind == FindingKind::Raise);
    raised.map(|finding| (finding.reason, finding.condition)).collect()
}

/// Whether our own check of services looks at the same and says the same of it.
pub(super) fn is_own_check(checker: &HealthChecker, task: &PluginTask) -> bool {
    let reasons: &[&str] = match checker.component {
        Component::Kubelet => &["KubeletUnhealthy"],
        Component::KubeProxy => &["KubeProxyUnhealthy"],
        Component::Docker => &["DockerUnhealthy"],
        Component::Cri => &["ContainerdUnhealthy", "CrioUnhealthy", "CriDockerdUnhealthy", "ContainerRuntimeUnhealthy"],
    };
    let known = nodewell_faults::reason::named(task.reason.as_str());
    let is_same = known
        .is_some_and(|known| known.condition.is_some() && known.condition == task.condition.as_ref().map(Name::as_str));
    is_same && reasons.contains(&task.reason.as_str())
}
