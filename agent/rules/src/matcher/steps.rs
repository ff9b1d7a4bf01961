//! A pattern as a list of steps: a literal, a byte of a set, a run of such bytes, one way or another. Most lines are
//! decided by it without a regex engine: it begins at once, and takes some hundred bytes, a compiled regex many times that.
//!
//! Ways are tried in the order in which the pattern has them, and of a run of bytes the longest or the shortest first. That
//! is what the regex crate promises to find, so that the first match is the same, with the same groups. A text in which
//! there are too many ways is left to the regex.

mod compile;

use std::ops::{Range, RangeInclusive};

/// The groups whose places are asked for.
pub(super) const GROUPS: usize = 3;
/// Steps and bytes of runs that are walked before a regex is asked, and for each byte of the text so many more. Real
/// patterns need some dozens.
const WALK_LIMIT: usize = 4096;
const WALK_LIMIT_OF_BYTE: usize = 2;
/// Ways that are open at once; each takes 80 bytes.
const WAYS_LIMIT: usize = 1024;
/// Where a group is that is not in the match.
const NOWHERE: usize = usize::MAX;

/// One pattern.
pub(super) struct Steps {
    /// Behind the last is a match.
    steps: Box<[Step]>,
    /// The bytes of all literals.
    literals: Box<[u8]>,
    sets: Box<[ByteSet]>,
    /// A match begins where the text does.
    is_anchored: bool,
    /// The first step: not the look at the start of the text, for a match that begins nowhere else.
    begin: usize,
    /// What every match begins with.
    first: Next,
    /// The set of the run with which every match begins, if that may be of any length.
    lead: Option<u16>,
}

#[derive(Clone, Copy)]
enum Step {
    /// These of the literals' bytes.
    Literal {
        begin: u32,
        end: u32,
    },
    /// A byte of the set.
    One {
        set: u16,
    },
    Run(Run),
    /// The step that follows, which begins with `first`, or else the other, which begins with `second`.
    Either {
        other: u32,
        first: Next,
        second: Next,
    },
    Jump(u32),
    /// A group begins or ends.
    Mark(u8),
    Border(Border),
}

/// So many bytes of a set.
#[derive(Clone, Copy)]
struct Run {
    min: u32,
    /// The largest number is no limit: no text is so long.
    max: u32,
    set: u16,
    /// The only byte that is not in the set: what most runs end at, and found many times faster.
    stop: Option<u8>,
    is_greedy: bool,
    /// What has to follow.
    then: Next,
    /// That is no byte of the run: it ends where such bytes end.
    has_one_end: bool,
}

/// What stands where a way goes on.
#[derive(Clone, Copy)]
enum Next {
    /// Any byte, or the end of the text.
    Any,
    Byte(u8),
    /// A byte of the set.
    OneOf(u16),
}

/// What has to be between two bytes.
#[derive(Clone, Copy)]
enum Border {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    Word,
    NoWord,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct ByteSet([u64; 4]);

/// Where the groups of a match begin and end.
#[derive(Clone, Copy)]
pub(crate) struct Marks([usize; 2 * GROUPS]);

/// Where to go on when the way that was taken leads nowhere: from each of the places, one after another.
pub(crate) struct Way {
    step: usize,
    places: Range<usize>,
    is_rising: bool,
    /// What has to stand at the place.
    then: Next,
    marks: Marks,
}

/// There are too many ways: only a regex can tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// So much may be walked in a text of so many bytes.
pub(super) fn walk_in(bytes: usize) -> usize {
    WALK_LIMIT.saturating_add(bytes.saturating_mul(WALK_LIMIT_OF_BYTE))
}

impl Steps {
    /// The first match in `text`. `ways` is room to work in, whatever is in it.
    pub(super) fn find(&self, text: &[u8], ways: &mut Vec<Way>) -> Result<Option<Marks>, TooLong> {
        self.find_within(text, &mut walk_in(text.len()), ways)
    }

    /// The same, if no more than `left` has to be walked; what is left of it then is left there.
    pub(super) fn find_within(
        &self,
        text: &[u8],
        left: &mut usize,
        ways: &mut Vec<Way>,
    ) -> Result<Option<Marks>, TooLong> {
        let mut from = 0;
        while let Some(start) = self.next_start(text, from) {
            let found = self.match_at(text, start, ways, left)?;
            if found.is_some() {
                return Ok(found);
            }
            from = self.led_to(text, start) + 1;
        }
        Ok(None)
    }

    /// Up to where no match begins, as none does at `start`: the run from there was tried with each of its ends.
    fn led_to(&self, text: &[u8], start: usize) -> usize {
        let Some(set) = self.lead else { return start };
        let set = &self.sets[usize::from(set)];
        start + text[start..].iter().take_while(|byte| set.contains(**byte)).count()
    }

    /// Where a match may begin, at `from` or behind it.
    fn next_start(&self, text: &[u8], from: usize) -> Option<usize> {
        if self.is_anchored {
            return (from == 0).then_some(0);
        }
        match self.first {
            Next::Any => (from <= text.len()).then_some(from),
            Next::Byte(byte) => Some(from + memchr::memchr(byte, text.get(from..)?)?),
            Next::OneOf(set) => {
                let set = &self.sets[usize::from(set)];
                Some(from + text.get(from..)?.iter().position(|byte| set.contains(*byte))?)
            }
        }
    }

    fn match_at(
        &self,
        text: &[u8],
        start: usize,
        ways: &mut Vec<Way>,
        left: &mut usize,
    ) -> Result<Option<Marks>, TooLong> {
        ways.clear();
        let marks = Marks([NOWHERE; 2 * GROUPS]);
        let mut walk = Walk { text, sets: &self.sets, at: start, step: self.begin, marks, ways, left };
        loop {
            let Some(step) = self.steps.get(walk.step) else { return Ok(Some(walk.marks)) };
            *walk.left = walk.left.checked_sub(1).ok_or(TooLong)?;
            if !walk.takes(*step, self) && !walk.turns_back() {
                return Ok(None);
            }
        }
    }
}

/// A place in the list and in the text.
struct Walk<'a> {
    text: &'a [u8],
    sets: &'a [ByteSet],
    at: usize,
    step: usize,
    marks: Marks,
    ways: &'a mut Vec<Way>,
    left: &'a mut usize,
}

impl Walk<'_> {
    /// Goes over `step`, the current one; false if the text is not as it asks for.
    #[inline]
    fn takes(&mut self, step: Step, steps: &Steps) -> bool {
        match step {
            Step::Literal { begin, end } => {
                let literal = &steps.literals[begin as usize..end as usize];
                self.text[self.at..].starts_with(literal) && self.goes_over(literal.len())
            }
            Step::One { set } => {
                let set = &self.sets[usize::from(set)];
                self.text.get(self.at).is_some_and(|byte| set.contains(*byte)) && self.goes_over(1)
            }
            Step::Run(run) => self.runs(run, &self.sets[usize::from(run.set)]),
            Step::Either { other, first, second } => {
                let other = other as usize;
                if !first.is_at(self.text, self.at, self.sets) {
                    return self.goes_to(other, self.at);
                }
                if second.is_at(self.text, self.at, self.sets) {
                    let places = self.at..self.at + 1;
                    self.keep(Way { step: other, places, is_rising: true, then: Next::Any, marks: self.marks });
                }
                self.goes_over(0)
            }
            Step::Jump(to) => self.goes_to(to as usize, self.at),
            Step::Mark(mark) => {
                self.marks.0[usize::from(mark)] = self.at;
                self.goes_over(0)
            }
            Step::Border(border) => border.is_at(self.text, self.at) && self.goes_over(0),
        }
    }

    fn runs(&mut self, run: Run, set: &ByteSet) -> bool {
        let limit = self.text.len().min(self.at.saturating_add(run.max as usize));
        let rest = &self.text[self.at..limit];
        let count = match run.stop {
            Some(stop) => memchr::memchr(stop, rest).unwrap_or(rest.len()),
            None => rest.iter().take_while(|byte| set.contains(**byte)).count(),
        };
        *self.left = self.left.saturating_sub(count);
        if count < run.min as usize {
            return false;
        }
        let longest = self.at + count;
        if run.has_one_end {
            return run.then.is_at(self.text, longest, self.sets) && self.goes_over(count);
        }
        let places = self.at + run.min as usize..longest + 1;
        let step = self.step + 1;
        let mut way = Way { step, places, is_rising: !run.is_greedy, then: run.then, marks: self.marks };
        let Some(at) = way.next(self.text, self.sets) else { return false };
        if !way.places.is_empty() {
            self.keep(way);
        }
        self.goes_to(step, at)
    }

    /// Goes on by the way that was kept last; false if there is none.
    fn turns_back(&mut self) -> bool {
        while let Some(way) = self.ways.last_mut() {
            let (next, step, marks) = (way.next(self.text, self.sets), way.step, way.marks);
            if way.places.is_empty() {
                self.ways.pop();
            }
            if let Some(at) = next {
                self.marks = marks;
                return self.goes_to(step, at);
            }
        }
        false
    }

    fn keep(&mut self, way: Way) {
        if self.ways.len() == WAYS_LIMIT {
            *self.left = 0;
        } else {
            self.ways.push(way);
        }
    }

    fn goes_over(&mut self, bytes: usize) -> bool {
        self.goes_to(self.step + 1, self.at + bytes)
    }

    fn goes_to(&mut self, step: usize, at: usize) -> bool {
        (self.step, self.at) = (step, at);
        true
    }
}

impl Way {
    /// Its next place; there is none left once it is `None`.
    fn next(&mut self, text: &[u8], sets: &[ByteSet]) -> Option<usize> {
        let then = self.then;
        if let Next::Byte(byte) = then {
            return self.next_with(byte, text);
        }
        let fits = |place: &usize| then.is_at(text, *place, sets);
        if self.is_rising { self.places.find(fits) } else { self.places.rfind(fits) }
    }

    /// Its next place where this byte is.
    fn next_with(&mut self, byte: u8, text: &[u8]) -> Option<usize> {
        let Range { start, end } = self.places;
        // The end of the text is a place without a byte.
        let bytes = text.get(start..end.min(text.len())).unwrap_or_default();
        let found = if self.is_rising { memchr::memchr(byte, bytes) } else { memchr::memrchr(byte, bytes) };
        let found = found.map(|at| start + at);
        self.places = match found {
            Some(at) if self.is_rising => at + 1..end,
            Some(at) => start..at,
            None => end..end,
        };
        found
    }
}

impl Next {
    #[inline]
    fn is_at(self, text: &[u8], at: usize, sets: &[ByteSet]) -> bool {
        match self {
            Self::Any => true,
            Self::Byte(byte) => text.get(at) == Some(&byte),
            Self::OneOf(set) => text.get(at).is_some_and(|byte| sets[usize::from(set)].contains(*byte)),
        }
    }
}

impl Border {
    fn is_at(self, text: &[u8], at: usize) -> bool {
        let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let (before, behind) = (at.checked_sub(1).and_then(|before| text.get(before)), text.get(at));
        match self {
            Self::TextStart => before.is_none(),
            Self::TextEnd => behind.is_none(),
            Self::LineStart => before.is_none_or(|byte| *byte == b'\n'),
            Self::LineEnd => behind.is_none_or(|byte| *byte == b'\n'),
            Self::Word => is_word(before) != is_word(behind),
            Self::NoWord => is_word(before) == is_word(behind),
        }
    }
}

impl ByteSet {
    fn add(&mut self, bytes: RangeInclusive<u8>) {
        bytes.for_each(|byte| self.0[usize::from(byte >> 6)] |= 1 << (byte & 63));
    }

    fn add_all(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
    }

    /// The byte that it has, if it is one alone.
    fn only(self) -> Option<u8> {
        let is_one = self.0.iter().map(|word| word.count_ones()).sum::<u32>() == 1;
        if is_one { (0..=u8::MAX).find(|byte| self.contains(*byte)) } else { None }
    }

    /// The byte that it has not, if it is one alone.
    fn only_other(self) -> Option<u8> {
        Self(self.0.map(|word| !word)).only()
    }

    fn is_apart_from(self, other: Self) -> bool {
        self.0.iter().zip(other.0).all(|(word, others)| word & others == 0)
    }

    #[inline]
    fn contains(&self, byte: u8) -> bool {
        (self.0[usize::from(byte >> 6)] >> (byte & 63)) & 1 != 0
    }
}

impl Marks {
    /// Group `group` in the text of the match, if it is a part of it.
    pub(super) fn group<'t>(&self, text: &'t [u8], group: usize) -> Option<&'t [u8]> {
        text.get(self.0[2 * group]..self.0[2 * group + 1])
    }
}

#[cfg(test)]
mod tests;
