//! The rules of one file, one by one: what becomes of each.

use std::{ops::RangeInclusive, time::Duration};

use nodewell_model::Name;

use super::{
    Beside, Context,
    convert::{self, Converted, NativePlugin, NativeRule, Source},
    kept::RuleText,
    stock,
};
use crate::{
    draft::{ReaderDraft, RuleDraft},
    duration,
    npd::custom::is_log_counter,
    plugin::{PluginMonitor, PluginTask, Task},
    rule::{Clears, Reader, Rule},
};

/// What `[kmsg]` and `[journal]` look back at the first start.
const LOOKBACK: Duration = Duration::from_mins(5);

/// A rule of the file.
pub(super) struct Piece {
    pub(super) reason: Name,
    pub(super) lines: RangeInclusive<usize>,
    pub(super) decision: Decision,
}

/// What becomes of a rule.
pub(super) enum Decision {
    Rule(Box<Converted<NativeRule>>),
    Plugin(Box<Converted<NativePlugin>>),
    Covered(String),
    Kept(String),
    Left(String),
}

impl Piece {
    /// Whether it is written as ours.
    pub(super) fn is_native(&self) -> bool {
        matches!(self.decision, Decision::Rule(_) | Decision::Plugin(_))
    }
}

impl Source {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Kmsg => "kmsg",
            Self::Journal => "journal",
            Self::File(file) => &file.name,
        }
    }
}

/// What of a file has not been taken apart yet.
pub(super) struct Parts {
    rules: std::vec::IntoIter<RuleDraft>,
    tasks: std::vec::IntoIter<PluginTask>,
    monitor: Option<PluginMonitor>,
    pub(super) differences: Vec<String>,
    /// What its log is called, once a rule of it is native.
    source: Option<String>,
}

impl Parts {
    /// A file has one monitor of programs at most.
    pub(super) fn new(rules: Vec<RuleDraft>, plugins: Vec<PluginMonitor>) -> Self {
        let monitor = plugins.into_iter().next();
        let tasks = monitor.as_ref().map(|monitor| monitor.tasks.clone()).unwrap_or_default();
        let (rules, tasks) = (rules.into_iter(), tasks.into_iter());
        Self { rules, tasks, monitor, differences: Vec::new(), source: None }
    }

    /// The rule of `text`: those of programs and those of logs stand in one list.
    pub(super) fn piece(&mut self, text: &RuleText<'_>, context: &mut Context) -> Option<Piece> {
        let task = if is_log_counter(&text.path) { None } else { self.tasks.next() };
        let lines = text.lines.clone();
        if let Some(task) = task {
            let reason = task.reason.clone();
            return Some(Piece { reason, lines, decision: self.task(task, context) });
        }
        let draft = self.rules.next()?;
        let reason = draft.rule.reason.clone();
        Some(Piece { reason, lines, decision: self.rule(draft, context) })
    }

    fn rule(&mut self, draft: RuleDraft, context: &mut Context) -> Decision {
        let RuleDraft { mut rule, reader, .. } = draft;
        // Without a declaration it is an Event, as where the file is loaded as it is.
        if rule.condition.as_ref().is_some_and(|condition| !context.catalogue.contains(condition)) {
            (rule.condition, rule.clears) = (None, Clears::default());
        }
        let entry = stock::from(&reader, &rule.fields).and_then(|from| context.shipped.entry(&rule, &from));
        let covered = entry.filter(|_| context.beside == Beside::Shipped);
        let found = covered.and_then(|entry| context.shipped.found(entry, rule.condition.as_ref()));
        if let (Some(found), Some(entry)) = (found, entry) {
            return Decision::Covered(covered_text(&found, &context.shipped.entries()[entry].note));
        }
        let lines = entry.map(|entry| context.shipped.entries()[entry].lines.clone()).unwrap_or_default();
        match convert::rule(&rule, &reader, &lines) {
            Ok(mut converted) => {
                self.settle_source(&mut converted.native, &rule, &reader, context);
                Decision::Rule(Box::new(converted))
            }
            Err(why) => Decision::Kept(why),
        }
    }

    /// Names the log, and notes what is different of the file as a whole; once.
    fn settle_source(&mut self, native: &mut NativeRule, npd: &Rule, reader: &ReaderDraft, context: &mut Context) {
        if let (Source::File(file), None) = (&native.source, &self.source) {
            self.source = Some(Context::free_name(&mut context.names, &spelled(&file.name)));
        }
        if let (Source::File(file), Some(name)) = (&mut native.source, &self.source) {
            file.name = name.as_str().into();
        }
        let monitor = match &native.source {
            Source::Kmsg => "kernel-monitor",
            Source::Journal => "journal-monitor",
            Source::File(file) => &*file.name,
        };
        if *monitor != *npd.monitor {
            self.differs(format!("Events of its rules have the source {monitor}, not {}", npd.monitor));
        }
        let is_usual = npd.lookback == Some(LOOKBACK) && !matches!(reader, ReaderDraft::Known(Reader::File(_)));
        if npd.counting.is_none() && !is_usual {
            let lookback = duration::shown(npd.lookback.unwrap_or_default());
            self.differs(format!(
                "lookback ({lookback}) is not used: the agent reads on where it stopped, and reports Events of the \
                 last 5m at its first start"
            ));
        }
    }

    fn differs(&mut self, text: String) {
        if !self.differences.contains(&text) {
            self.differences.push(text);
        }
    }

    fn task(&mut self, task: PluginTask, context: &mut Context) -> Decision {
        if let Task::Health(checker) = &task.task {
            let component = checker.component.as_str();
            return match &task.condition {
                None => Decision::Left(format!(
                    "a health-checker of type temporary sets no condition, and is not taken over: make it permanent, \
                     with a condition, or use the agent's own check of {component}"
                )),
                Some(_) if stock::is_own_check(checker, &task) => Decision::Covered(format!(
                    "the agent's own check of services asks {component}, every 20s, and three bad answers are a \
                     problem; [services] in nodewell.toml has the times"
                )),
                Some(_) => Decision::Kept(format!(
                    "its condition or reason is not the stock file's; a [[service]] in nodewell.toml checks \
                     {component} natively, with the reason ServiceUnhealthy"
                )),
            };
        }
        let Some(monitor) = &self.monitor else { return Decision::Left("it has no monitor".to_owned()) };
        let name = Context::free_name(&mut context.names, &kebab(task.reason.as_str()));
        match convert::plugin(monitor, &task, name) {
            Ok(converted) => {
                let (source, concurrency) = (&monitor.source, monitor.concurrency);
                let difference = format!(
                    "Events of its plug-ins have the source plugins, not {source}; at most 16 plug-ins run at once on \
                     the node, of all files together, not {concurrency} of this file"
                );
                self.differs(difference);
                Decision::Plugin(Box::new(converted))
            }
            Err(why) => Decision::Kept(why),
        }
    }
}

fn covered_text(found: &[stock::Found], note: &str) -> String {
    let one = |(reason, condition): &stock::Found| match condition {
        Some(condition) => format!("{reason} ({condition})"),
        None => format!("{reason} (an Event)"),
    };
    let found = found.iter().map(one).collect::<Vec<_>>().join(", ");
    let note = if note.is_empty() { String::new() } else { format!("; {note}") };
    format!("shipped rules find its lines, as {found}{note}; no copy is needed")
}

/// As names of sources and files are: lower-case letters, digits, dashes.
pub(super) fn spelled(name: &str) -> String {
    let plain =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c.to_ascii_lowercase() } else { '-' };
    let spelled: String = name.chars().map(plain).take(48).collect();
    match spelled.trim_start_matches(['-', '.', '_']) {
        "" | "kmsg" | "journal" => "npd".to_owned(),
        spelled => spelled.to_owned(),
    }
}

/// `NTPIsDown` → `ntp-is-down`.
fn kebab(reason: &str) -> String {
    let bytes = reason.as_bytes();
    let is_upper = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_uppercase);
    let starts_word = |index: usize| {
        let next_is_lower = bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase);
        index > 0 && is_upper(index) && (!is_upper(index - 1) || next_is_lower)
    };
    let word = |(index, byte): (usize, &u8)| {
        let dash = if starts_word(index) { "-" } else { "" };
        format!("{dash}{}", char::from(byte.to_ascii_lowercase()))
    };
    let kebab: String = bytes.iter().enumerate().map(word).collect();
    kebab.chars().take(48).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_become_names_of_plug_ins() {
        for (reason, name) in
            [("NTPIsDown", "ntp-is-down"), ("DNSUnreachable", "dns-unreachable"), ("A", "a"), ("Xid79", "xid79")]
        {
            assert_eq!(kebab(reason), name);
        }
        assert_eq!(
            (spelled("My Log_1").as_str(), spelled("--").as_str(), spelled("kmsg").as_str()),
            ("my-log_1", "npd", "npd")
        );
    }
}
