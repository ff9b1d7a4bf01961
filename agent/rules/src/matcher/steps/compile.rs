//! From a pattern's syntax tree to steps.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::{Border, ByteSet, GROUPS, Next, Run, Step, Steps};

/// Longer lists are left to a regex: repetitions are written out.
const STEPS_LIMIT: usize = 2048;
const LITERALS_LIMIT_BYTES: usize = 16 << 10;
/// So many steps are looked at to know what a way goes on with: many parts that may be missing leave it unknown.
const AHEAD_LIMIT: usize = 32;

impl Steps {
    /// `hir` as steps that mark where these of its groups are; `None` for what only a regex can do: characters beyond
    /// ASCII, a loop over nothing, a great many steps.
    pub(in crate::matcher) fn of(hir: &Hir, groups: [Option<usize>; GROUPS]) -> Option<Self> {
        let mut builder = Builder { groups, steps: Vec::new(), literals: Vec::new(), sets: Vec::new() };
        builder.add(hir)?;
        builder.look_ahead()?;
        let is_anchored = hir.properties().look_set_prefix().contains(Look::Start);
        let looks_first = matches!(builder.steps.first(), Some(Step::Border(Border::TextStart)));
        Some(Self {
            is_anchored,
            begin: usize::from(is_anchored && looks_first),
            first: builder.next_at(0)?,
            lead: builder.lead(),
            steps: builder.steps.into(),
            literals: builder.literals.into(),
            sets: builder.sets.into(),
        })
    }
}

struct Builder {
    groups: [Option<usize>; GROUPS],
    steps: Vec<Step>,
    literals: Vec<u8>,
    sets: Vec<ByteSet>,
}

impl Builder {
    fn add(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty => Some(()),
            HirKind::Literal(literal) => self.add_literal(&literal.0),
            HirKind::Class(class) => {
                let set = self.set(ByteSet::of(class)?)?;
                self.push(Step::One { set }).map(drop)
            }
            HirKind::Look(look) => self.push(Step::Border(Border::of(*look)?)).map(drop),
            HirKind::Repetition(repetition) => self.add_repetition(repetition),
            HirKind::Capture(capture) => self.add_group(usize::try_from(capture.index).ok()?, &capture.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.add(part)),
            HirKind::Alternation(branches) => self.add_alternation(branches),
        }
    }

    fn add_literal(&mut self, literal: &[u8]) -> Option<()> {
        let begin = u32::try_from(self.literals.len()).ok()?;
        self.literals.extend_from_slice(literal);
        let end = u32::try_from(self.literals.len()).ok()?;
        if self.literals.len() > LITERALS_LIMIT_BYTES {
            return None;
        }
        self.push(Step::Literal { begin, end }).map(drop)
    }

    fn add_group(&mut self, index: usize, sub: &Hir) -> Option<()> {
        let Some(group) = self.groups.iter().position(|group| *group == Some(index)) else { return self.add(sub) };
        let begin = u8::try_from(2 * group).ok()?;
        self.push(Step::Mark(begin))?;
        self.add(sub)?;
        self.push(Step::Mark(begin + 1)).map(drop)
    }

    fn add_alternation(&mut self, branches: &[Hir]) -> Option<()> {
        let (last, others) = branches.split_last()?;
        let mut ends = Vec::new();
        for branch in others {
            let either = self.push_either()?;
            self.add(branch)?;
            ends.push(self.push(Step::Jump(0))?);
            self.lead_here(either);
        }
        self.add(last)?;
        ends.into_iter().for_each(|end| self.lead_here(end));
        Some(())
    }

    fn add_repetition(&mut self, repetition: &Repetition) -> Option<()> {
        let Repetition { min, max, greedy: is_greedy, ref sub } = *repetition;
        if let Some(set) = of_one_byte(sub) {
            let (stop, set) = (set.only_other(), self.set(set)?);
            let max = max.unwrap_or(u32::MAX);
            let run = Run { min, max, set, stop, is_greedy, then: Next::Any, has_one_end: false };
            return self.push(Step::Run(run)).map(drop);
        }
        // What may be nothing could be repeated for ever.
        let may_be_empty = sub.properties().minimum_len().is_none_or(|bytes| bytes == 0);
        if may_be_empty && max != Some(1) {
            return None;
        }
        (0..min).try_for_each(|_| self.add(sub))?;
        match max {
            Some(max) => self.add_at_most(max.saturating_sub(min), sub, is_greedy),
            None => self.add_loop(sub, is_greedy),
        }
    }

    fn add_at_most(&mut self, times: u32, sub: &Hir, is_greedy: bool) -> Option<()> {
        let mut exits = Vec::new();
        for _ in 0..times {
            exits.push(self.add_exit(is_greedy)?);
            self.add(sub)?;
        }
        exits.into_iter().for_each(|exit| self.lead_here(exit));
        Some(())
    }

    fn add_loop(&mut self, sub: &Hir, is_greedy: bool) -> Option<()> {
        let begin = u32::try_from(self.steps.len()).ok()?;
        let exit = self.add_exit(is_greedy)?;
        self.add(sub)?;
        self.push(Step::Jump(begin))?;
        self.lead_here(exit);
        Some(())
    }

    /// A way around what follows, which is tried behind that, or before it if it is not greedy: the step that has to lead
    /// there.
    fn add_exit(&mut self, is_greedy: bool) -> Option<usize> {
        let either = self.push_either()?;
        if is_greedy {
            return Some(either);
        }
        let exit = self.push(Step::Jump(0))?;
        self.lead_here(either);
        Some(exit)
    }

    /// The index of the step; `None` if there are too many.
    fn push(&mut self, step: Step) -> Option<usize> {
        let index = self.steps.len();
        (index < STEPS_LIMIT).then(|| self.steps.push(step)).map(|()| index)
    }

    fn push_either(&mut self) -> Option<usize> {
        self.push(Step::Either { other: 0, first: Next::Any, second: Next::Any })
    }

    /// Makes the step at `index` lead to the one that is added next.
    fn lead_here(&mut self, index: usize) {
        let here = u32::try_from(self.steps.len()).expect("steps are limited");
        if let Step::Either { other: to, .. } | Step::Jump(to) = &mut self.steps[index] {
            *to = here;
        }
    }

    fn set(&mut self, set: ByteSet) -> Option<u16> {
        let known = self.sets.iter().position(|known| *known == set);
        let index = known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        u16::try_from(index).ok()
    }

    /// Finds what is known of the byte that follows a step. `None` if there are too many sets.
    fn look_ahead(&mut self) -> Option<()> {
        for index in 0..self.steps.len() {
            let known = match self.steps[index] {
                Step::Run(run) => {
                    let then = self.next_at(index + 1)?;
                    Step::Run(Run { then, has_one_end: self.has_one_end(run.set, then), ..run })
                }
                Step::Either { other, .. } => {
                    let (first, second) = (self.next_at(index + 1)?, self.next_at(other as usize)?);
                    Step::Either { other, first, second }
                }
                step => step,
            };
            self.steps[index] = known;
        }
        Some(())
    }

    /// Whether a run of `set` ends where its bytes end, as `then` is none of them.
    fn has_one_end(&self, set: u16, then: Next) -> bool {
        let set = self.sets[usize::from(set)];
        match then {
            Next::Any => false,
            Next::Byte(byte) => !set.contains(byte),
            Next::OneOf(others) => set.is_apart_from(self.sets[usize::from(others)]),
        }
    }

    /// What the step at `index` begins with.
    fn next_at(&mut self, index: usize) -> Option<Next> {
        let Some(bytes) = self.bytes_at(index) else { return Some(Next::Any) };
        match bytes.only() {
            Some(byte) => Some(Next::Byte(byte)),
            None => self.set(bytes).map(Next::OneOf),
        }
    }

    /// The bytes of which one has to stand where the step at `begin` begins; `None` if a match may end there, or it is
    /// not known. What lies between two bytes is passed over: what follows it begins at the same place.
    fn bytes_at(&self, begin: usize) -> Option<ByteSet> {
        let (mut bytes, mut ahead, mut looked_at) = (ByteSet::default(), vec![begin], 0);
        while let Some(&index) = ahead.get(looked_at) {
            looked_at += 1;
            if looked_at > AHEAD_LIMIT {
                return None;
            }
            let (next, other) = match *self.steps.get(index)? {
                Step::Literal { begin, .. } => {
                    let byte = *self.literals.get(begin as usize)?;
                    bytes.add(byte..=byte);
                    (None, None)
                }
                Step::One { set } => {
                    bytes.add_all(self.sets[usize::from(set)]);
                    (None, None)
                }
                Step::Run(run) => {
                    bytes.add_all(self.sets[usize::from(run.set)]);
                    ((run.min == 0).then_some(index + 1), None)
                }
                Step::Either { other, .. } => (Some(index + 1), Some(other as usize)),
                Step::Jump(to) => (Some(to as usize), None),
                Step::Mark(_) | Step::Border(_) => (Some(index + 1), None),
            };
            for index in [next, other].into_iter().flatten() {
                if !ahead.contains(&index) {
                    ahead.push(index);
                }
            }
        }
        Some(bytes)
    }

    /// The set of the run that is the first step, if it has no limit.
    fn lead(&self) -> Option<u16> {
        match self.steps.iter().find(|step| !matches!(step, Step::Mark(_)))? {
            Step::Run(Run { max: u32::MAX, set, .. }) => Some(*set),
            _ => None,
        }
    }
}

/// The bytes of which `hir` matches one.
fn of_one_byte(hir: &Hir) -> Option<ByteSet> {
    match hir.kind() {
        HirKind::Class(class) => ByteSet::of(class),
        HirKind::Literal(literal) => match *literal.0 {
            [byte] => {
                let mut set = ByteSet::default();
                set.add(byte..=byte);
                Some(set)
            }
            _ => None,
        },
        _ => None,
    }
}

impl ByteSet {
    /// `None`: characters of more than one byte.
    fn of(class: &Class) -> Option<Self> {
        let mut set = Self::default();
        match class {
            Class::Bytes(class) => class.ranges().iter().for_each(|range| set.add(range.start()..=range.end())),
            Class::Unicode(class) if class.is_ascii() => {
                class.ranges().iter().for_each(|range| set.add(range.start() as u8..=range.end() as u8));
            }
            Class::Unicode(_) => return None,
        }
        Some(set)
    }
}

impl Border {
    /// `None`: one that no rule has asked for yet.
    fn of(look: Look) -> Option<Self> {
        match look {
            Look::Start => Some(Self::TextStart),
            Look::End => Some(Self::TextEnd),
            Look::StartLF => Some(Self::LineStart),
            Look::EndLF => Some(Self::LineEnd),
            Look::WordAscii => Some(Self::Word),
            Look::WordAsciiNegate => Some(Self::NoWord),
            _ => None,
        }
    }
}
