//! Files become one set: names are looked up, readers shared, duplicates found.

use std::collections::HashMap;

use nodewell_model::{ConditionSpec, Name};

use super::{Loaded, monitors, overrides, plugins, statistics};
use crate::{
    Diagnostic, Location, Note, Reader, Rule,
    draft::{ConditionDraft, Draft, ReaderDraft, RuleDraft, SourceDraft, Use},
    nearest::did_you_mean,
    reader::BUILT_IN,
    rule::{FileReader, Format},
};

/// What other files have that are not loaded: it may be used without being declared.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) conditions: Vec<ConditionSpec>,
    pub(super) rules: Vec<Rule>,
}

/// Everything known while rules are joined.
struct Joiner<'a> {
    loaded: Loaded,
    /// Declared elsewhere: taken into the catalogue when a rule needs it.
    known: &'a Known,
    conditions: HashMap<Name, Location>,
    sources: HashMap<String, (FileReader, Location)>,
    broken: Vec<String>,
    /// What each rule listens for, to find a second one that would never fire.
    listening: HashMap<Wording, (Location, Format)>,
}

/// Two rules with equal ones are duplicates: the second never fires.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Wording {
    reason: Name,
    condition: Option<Name>,
    reader: usize,
    fields: String,
    pattern: String,
}

/// Joins `drafts`, native ones first.
pub(super) fn join(drafts: Vec<Draft>, known: &Known) -> Loaded {
    let mut joiner = Joiner {
        loaded: Loaded::default(),
        known,
        conditions: HashMap::new(),
        sources: HashMap::new(),
        broken: Vec::new(),
        listening: HashMap::new(),
    };
    let mut uses = Vec::new();
    let (mut rules, mut overrides) = (Vec::new(), Vec::new());
    for draft in drafts {
        joiner.loaded.diagnostics.extend(draft.diagnostics);
        joiner.loaded.notes.extend(draft.notes);
        joiner.broken.extend(draft.broken);
        draft.conditions.into_iter().for_each(|condition| joiner.declare(condition, draft.npd));
        draft.sources.into_iter().for_each(|source| joiner.declare_source(source));
        joiner.loaded.set.statistics.extend(draft.statistics);
        uses.extend(draft.uses);
        rules.extend(draft.rules);
        overrides.extend(draft.overrides);
        joiner.loaded.set.plugins.extend(draft.plugins);
    }
    uses.iter().for_each(|used| joiner.look_up(used));
    rules.into_iter().for_each(|rule| joiner.add(rule));
    overrides::apply(overrides, &known.rules, &mut joiner.loaded);
    joiner.finish()
}

impl Joiner<'_> {
    fn declare(&mut self, draft: ConditionDraft, npd: bool) {
        let ConditionDraft { spec, meaning, location } = draft;
        if !meaning.is_empty() {
            self.loaded.set.meanings.entry(spec.condition.clone()).or_insert(meaning);
        }
        let Some(first) = self.loaded.set.conditions.iter().find(|known| known.condition == spec.condition) else {
            self.conditions.insert(spec.condition.clone(), location);
            self.loaded.set.conditions.push(spec);
            return;
        };
        if *first == spec {
            return;
        }
        let first = &self.conditions[&spec.condition];
        let message = format!("the condition {} is declared in other words at {first}", spec.condition);
        if npd {
            self.loaded.notes.push(Note::new(location, format!("{message}; those are used")));
        } else {
            self.loaded.diagnostics.push(Diagnostic::new(location, message));
        }
    }

    fn declare_source(&mut self, draft: SourceDraft) {
        let name = draft.reader.name.to_string();
        match self.sources.get(&name) {
            Some((reader, _)) if *reader == draft.reader => {}
            Some((_, first)) => {
                let message = format!("the source {name:?} is declared otherwise at {first}");
                self.loaded.diagnostics.push(Diagnostic::new(draft.location, message));
            }
            None => {
                self.sources.insert(name, (draft.reader, draft.location));
            }
        }
    }

    fn look_up(&mut self, used: &Use) {
        match used {
            Use::Condition(name, location) if !self.is_declared(name) => {
                let all =
                    self.loaded.set.conditions.iter().chain(&self.known.conditions).map(|spec| spec.condition.as_str());
                let hint = match did_you_mean(name.as_str(), all) {
                    none if none.is_empty() => "; declare it with [[condition]]".to_owned(),
                    hint => hint,
                };
                let message = format!("unknown condition {:?}{hint}", name.as_str());
                self.loaded.diagnostics.push(Diagnostic::new(location.clone(), message));
            }
            Use::Source(name, location) if !self.sources.contains_key(name) && !self.broken.contains(name) => {
                let built_in = BUILT_IN.each_ref().map(|one| one.name);
                let hint = match did_you_mean(name, self.sources.keys().map(String::as_str).chain(built_in)) {
                    none if none.is_empty() => format!("; it is {} or the name of a [[source]]", built_in.join(", ")),
                    hint => hint,
                };
                let message = format!("unknown source {name:?}{hint}");
                self.loaded.diagnostics.push(Diagnostic::new(location.clone(), message));
            }
            _ => {}
        }
    }

    /// Whether rules may use the condition; one that only the shipped rules declare enters the catalogue here.
    fn is_declared(&mut self, name: &Name) -> bool {
        if self.conditions.contains_key(name) || self.broken.iter().any(|broken| broken == name.as_str()) {
            return true;
        }
        let spec = self.known.conditions.iter().find(|spec| spec.condition == *name);
        if let Some(spec) = spec
            && !self.loaded.set.conditions.contains(spec)
        {
            self.loaded.set.conditions.push(spec.clone());
        }
        spec.is_some()
    }

    fn add(&mut self, mut draft: RuleDraft) {
        let undeclared = draft.rule.condition.clone().filter(|condition| !self.is_declared(condition));
        match (undeclared, draft.rule.format) {
            // Its use reports the error.
            (Some(_), Format::Native) => return,
            (Some(condition), Format::Npd) => self.make_temporary(&mut draft, &condition),
            (None, _) => {}
        }
        let Some(reader) = self.reader(&draft.reader) else { return };
        draft.rule.reader = reader;
        if !self.is_duplicate(&draft) {
            self.loaded.set.rules.push(draft.rule);
        }
    }

    /// Node Problem Detector drops such a rule's finding silently.
    fn make_temporary(&mut self, draft: &mut RuleDraft, condition: &Name) {
        let message = format!(
            "no file declares the condition {condition}: {} is reported as an event only (Node Problem Detector \
             reports nothing)",
            draft.rule.reason
        );
        self.loaded.notes.push(Note::new(draft.rule.location.clone(), message));
        draft.rule.condition = None;
        draft.rule.clears = crate::rule::Clears::default();
    }

    /// The index of the reader, made at its first use. `None` if its source is unknown.
    fn reader(&mut self, draft: &ReaderDraft) -> Option<usize> {
        let reader = match draft {
            ReaderDraft::Known(reader) => reader.clone(),
            ReaderDraft::Named(name) => Reader::File(self.sources.get(name)?.0.clone()),
        };
        let readers = &mut self.loaded.set.readers;
        let index = readers.iter().position(|known| *known == reader);
        Some(index.unwrap_or_else(|| {
            readers.push(reader);
            readers.len() - 1
        }))
    }

    /// Whether a native rule has a pattern that another rule has already; for Node Problem Detector's only a note.
    fn is_duplicate(&mut self, draft: &RuleDraft) -> bool {
        let mut invalid = false;
        for (pattern, line) in draft.rule.patterns.iter().zip(&draft.pattern_lines) {
            let location = Location { file: draft.rule.location.file.clone(), line: *line };
            let wording = wording(draft, pattern);
            let Some((first, format)) = self.listening.get(&wording) else {
                self.listening.insert(wording, (location, draft.rule.format));
                continue;
            };
            let message = format!("duplicate: {} has the same pattern at {first}", draft.rule.reason);
            if draft.rule.format == Format::Npd || *format == Format::Npd {
                self.loaded.notes.push(Note::new(location, format!("{message}; it fires once")));
            } else {
                invalid = true;
                self.loaded.diagnostics.push(Diagnostic::new(location, message));
            }
        }
        invalid
    }

    fn finish(mut self) -> Loaded {
        monitors::make_distinct(&mut self.loaded);
        plugins::settle(&mut self.loaded);
        statistics::make_distinct(&mut self.loaded);
        self.loaded.diagnostics.sort();
        self.loaded.diagnostics.dedup();
        self.loaded.notes.sort();
        self.loaded.notes.dedup();
        self.loaded.warnings.sort();
        self.loaded
    }
}

fn wording(draft: &RuleDraft, pattern: &str) -> Wording {
    Wording {
        reason: draft.rule.reason.clone(),
        condition: draft.rule.condition.clone(),
        reader: draft.rule.reader,
        fields: format!("{:?}", draft.rule.fields),
        pattern: pattern.to_owned(),
    }
}
