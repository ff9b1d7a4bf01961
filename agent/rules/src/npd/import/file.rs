//! One file on its way: what becomes of each of its rules, and the files that are written for it.

use std::{ops::RangeInclusive, path::PathBuf};

use nodewell_model::{ConditionSpec, Name};

use super::{
    Context, FOLDER, Fate, Item, NewFile, NpdFile,
    convert::{NativeRule, Source},
    kept,
    parts::{Decision, Parts, Piece, spelled},
    write,
};
use crate::{Location, draft::Draft, npd::stats::known_modules_text, rule::Rule};

/// A file, taken apart.
pub(super) struct ImportedFile<'a> {
    file: &'a NpdFile,
    stem: String,
    /// The conditions that it declares.
    pub(super) declared: Vec<Name>,
    /// Those of them that it is to declare in its new form.
    pub(super) conditions: Vec<ConditionSpec>,
    pieces: Vec<Piece>,
    is_statistics: bool,
    /// What is different of it as a whole.
    pub(super) differences: Vec<String>,
}

/// The files of one file, and which lines of the rules are of which pieces.
pub(super) struct Assembled {
    pub(super) files: Vec<NewFile>,
    rules: PathBuf,
    spans: Vec<(RangeInclusive<usize>, Vec<usize>)>,
}

impl Assembled {
    /// The pieces that a line of the new file comes from.
    pub(super) fn pieces_at<'b>(&'b self, location: &'b Location) -> impl Iterator<Item = usize> + 'b {
        let is_here =
            move |lines: &RangeInclusive<usize>| location.file == self.rules && lines.contains(&location.line);
        let spans = self.spans.iter().filter(move |(lines, _)| is_here(lines));
        spans.flat_map(|(_, pieces)| pieces.iter().copied())
    }
}

impl<'a> ImportedFile<'a> {
    /// Takes the file apart; `draft` is without errors.
    pub(super) fn read(file: &'a NpdFile, draft: Draft, context: &mut Context) -> Self {
        let stem = Context::free_name(&mut context.stems, &stem(file));
        let declared = draft.conditions.into_iter().map(|condition| condition.spec.condition).collect();
        let texts = kept::rules(&file.path, &file.text);
        let mut parts = Parts::new(draft.rules, draft.plugins);
        let pieces = texts.iter().filter_map(|text| parts.piece(text, context)).collect();
        let (is_statistics, conditions) = (draft.statistics.is_some(), Vec::new());
        Self { file, stem, declared, conditions, pieces, is_statistics, differences: parts.differences }
    }

    /// The rule stays as it is; returns whether that is news.
    pub(super) fn keep(&mut self, piece: usize, why: &str) -> bool {
        let Some(piece) = self.pieces.get_mut(piece) else { return false };
        let is_native = piece.is_native();
        if is_native {
            piece.decision = Decision::Kept(format!("as a native rule it has an error: {why}"));
        }
        is_native
    }

    fn rules_name(&self) -> PathBuf {
        PathBuf::from(FOLDER).join(format!("{}.toml", self.stem))
    }

    fn kept_name(&self) -> PathBuf {
        PathBuf::from(FOLDER).join(format!("{}.json", self.stem))
    }

    /// The files to write.
    pub(super) fn assembled(&self) -> Assembled {
        let kept: Vec<usize> = self.indices(|piece| matches!(piece.decision, Decision::Kept(_)));
        let mut files = Vec::new();
        let mut text = Text::new(self.file);
        let is_needed = self.pieces.iter().any(Piece::is_native) || (kept.is_empty() && !self.is_statistics);
        if is_needed {
            self.conditions.iter().for_each(|spec| text.add(&write::condition(spec), Vec::new()));
            self.add_source(&mut text);
            self.add_rules(&mut text);
            self.add_plugins(&mut text);
        }
        if text.has_tables {
            files.push(NewFile { name: self.rules_name(), text: text.text });
        }
        if self.is_statistics || !kept.is_empty() {
            let text = if self.is_statistics {
                self.file.text.clone()
            } else {
                kept::with_rules(&self.file.path, &self.file.text, &kept)
            };
            files.push(NewFile { name: self.kept_name(), text });
            files.extend(self.known_modules());
        }
        Assembled { files, rules: self.rules_name(), spans: text.spans }
    }

    /// The list that a statistics file names, where it lies beside that.
    fn known_modules(&self) -> Option<NewFile> {
        let name = kept::known_modules(&self.file.path, &self.file.text)?;
        let is_below = name.is_relative() && !name.components().any(|part| part == std::path::Component::ParentDir);
        // What lies elsewhere is not written, and not even opened.
        let path = self.file.path.parent().filter(|_| is_below)?.join(&name);
        let text = known_modules_text(&path).ok()?;
        Some(NewFile { name: PathBuf::from(FOLDER).join(name), text })
    }

    fn indices(&self, wanted: impl Fn(&Piece) -> bool) -> Vec<usize> {
        self.pieces.iter().enumerate().filter(|(_, piece)| wanted(piece)).map(|(index, _)| index).collect()
    }

    fn natives(&self) -> impl Iterator<Item = (usize, &NativeRule)> {
        self.pieces.iter().enumerate().filter_map(|(index, piece)| match &piece.decision {
            Decision::Rule(converted) => Some((index, &converted.native)),
            _ => None,
        })
    }

    /// All rules of a file read the same log.
    fn add_source(&self, text: &mut Text) {
        let source = self.natives().find_map(|(_, native)| match &native.source {
            Source::File(file) => Some(write::source(file)),
            Source::Kmsg | Source::Journal => None,
        });
        if let Some(source) = source {
            text.add(&source, self.natives().map(|(index, _)| index).collect());
        }
    }

    /// What differs in its pattern alone is one rule with several patterns.
    fn add_rules(&self, text: &mut Text) {
        let mut groups: Vec<(NativeRule, Vec<usize>)> = Vec::new();
        for (index, native) in self.natives() {
            match groups.iter_mut().find(|(known, _)| is_alike(known, native)) {
                Some((known, pieces)) => {
                    merge(&mut known.rule, &native.rule);
                    pieces.push(index);
                }
                None => groups.push((native.clone(), vec![index])),
            }
        }
        for (NativeRule { rule, source }, pieces) in groups {
            text.add(&write::rule(&rule, source.name()), pieces);
        }
    }

    fn add_plugins(&self, text: &mut Text) {
        for (index, piece) in self.pieces.iter().enumerate() {
            if let Decision::Plugin(converted) = &piece.decision {
                text.add(&write::plugin(&converted.native), vec![index]);
            }
        }
    }

    /// What becomes of everything in it.
    pub(super) fn items(&self) -> Vec<Item> {
        let at = |line| Location { file: self.file.path.clone(), line };
        let mut items: Vec<Item> = self.pieces.iter().map(|piece| self.item(piece, at(*piece.lines.start()))).collect();
        if self.pieces.iter().any(Piece::is_native) {
            items.extend(self.differences.iter().map(|text| Item::new(at(1), Fate::Changed, text)));
        }
        if self.is_statistics {
            let text = format!(
                "no native form has its metrics' names: it stays, as {}; the agent's own metrics are nodewell_node_*",
                self.kept_name().display()
            );
            items.push(Item::new(at(1), Fate::Kept, text));
        } else if self.pieces.is_empty() {
            items.push(Item::new(at(1), Fate::Left, "it has no rules"));
        }
        items
    }

    fn item(&self, piece: &Piece, at: Location) -> Item {
        let reason = &piece.reason;
        let native = |kind: &str, changes: &[String]| {
            let text = format!("{reason}: a {kind} of {}", self.rules_name().display());
            match changes {
                [] => (Fate::Same, text),
                changes => (Fate::Changed, format!("{text}; {}", changes.join("; "))),
            }
        };
        let (fate, text) = match &piece.decision {
            Decision::Rule(converted) => native("rule", &converted.changes),
            Decision::Plugin(converted) => native("plug-in", &converted.changes),
            Decision::Covered(text) => (Fate::Covered, format!("{reason}: {text}")),
            Decision::Kept(why) => {
                (Fate::Kept, format!("{reason}: it stays, in {}: {why}", self.kept_name().display()))
            }
            Decision::Left(why) => (Fate::Left, format!("{reason}: {why}")),
        };
        Item::new(at, fate, text)
    }

    /// Whether what is said of a line of it still matters.
    pub(super) fn is_concerned(&self, location: &Location) -> bool {
        let matters = |piece: &Piece| piece.is_native() || matches!(piece.decision, Decision::Kept(_));
        let mut here = self.pieces.iter().filter(|piece| piece.lines.contains(&location.line)).peekable();
        let of_all = here.peek().is_none() && (self.is_statistics || self.pieces.iter().any(matters));
        location.file == self.file.path && (of_all || here.any(matters))
    }
}

fn is_alike(one: &NativeRule, other: &NativeRule) -> bool {
    let kin = |native: &NativeRule| {
        let NativeRule { rule, source } = native.clone();
        let Rule { reason, condition, severity, lines, fields, counting, clears, explain, .. } = rule;
        (reason, condition, severity, lines, (fields, counting, clears, explain, source))
    };
    // What counts has a count of its own: with a second pattern it would be reached by the sum of both.
    let may_join = one.rule.counting.is_none() || one.rule.patterns == other.rule.patterns;
    may_join && kin(one) == kin(other)
}

fn merge(known: &mut Rule, other: &Rule) {
    let is_new = |pattern: &&String| !known.patterns.contains(pattern);
    let new: Vec<String> = other.patterns.iter().filter(is_new).cloned().collect();
    if !new.is_empty() {
        known.patterns.extend(new);
        known.examples.matches.extend(other.examples.matches.iter().cloned());
    }
}

/// A rule file under construction.
struct Text {
    text: String,
    spans: Vec<(RangeInclusive<usize>, Vec<usize>)>,
    has_tables: bool,
}

impl Text {
    fn new(file: &NpdFile) -> Self {
        let name = nodewell_model::text::line(&file.path.display().to_string(), 200);
        let text = format!("# Taken over from Node Problem Detector's {name} by `nodewell import-npd`.\n");
        Self { text, spans: Vec::new(), has_tables: false }
    }

    /// A table that comes from these pieces.
    fn add(&mut self, table: &str, pieces: Vec<usize>) {
        self.text.push('\n');
        let start = self.text.matches('\n').count() + 1;
        self.text.push_str(table);
        self.spans.push((start..=self.text.matches('\n').count(), pieces));
        self.has_tables = true;
    }
}

/// What the new files are called: as the old one, or as its key in a manifest.
fn stem(file: &NpdFile) -> String {
    let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.rsplit_once('#').map_or(&*stem, |(_, key)| key);
    spelled(stem)
}
