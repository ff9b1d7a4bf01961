//! A text with named places, and how it is filled so that it fits.

use std::fmt::Display;

/// The most bytes of a message. A condition shows its first problems whole, and what follows them is cut.
pub const LIMIT: usize = 256;
/// The most bytes of an Event's message that quotes others; the API server takes no more.
pub const EVENT_LIMIT: usize = 1024;
/// What stands where an argument was cut.
const CUT: &str = "…";
/// An argument of that many bytes is shown whole, however long the others are.
const SHORT: usize = 16;

/// The arguments of a message: for each place `{name}` of its template the name and the value that is shown there.
pub type MessageArgs<'a> = &'a [(&'a str, &'a dyn Display)];

/// A text with places for arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template<'t> {
    pub key: &'t str,
    pub text: &'t str,
    /// The most bytes that it has with its arguments.
    pub limit: usize,
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Words(&'t str),
    /// The name between braces.
    Argument(&'t str),
}

impl<'t> Template<'t> {
    /// What `found` of `key` gives with `args`.
    ///
    /// # Panics
    /// In debug builds, if there is none or if its arguments are others than these: a bug that tests find.
    #[must_use]
    pub fn compose(found: Option<Self>, key: &str, args: MessageArgs<'_>) -> String {
        let Some(template) = found else {
            debug_assert!(false, "no message {key}");
            return key.to_owned();
        };
        debug_assert!(template.fits(args), "{key}: the args of {:?} are not those given", template.text);
        template.fill(args)
    }

    pub(crate) fn fill(&self, args: MessageArgs<'_>) -> String {
        fill(self.text, args, self.limit)
    }

    /// Names of its places.
    pub(crate) fn places(&self) -> impl Iterator<Item = &'t str> {
        pieces(self.text).into_iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name),
            Piece::Words(_) => None,
        })
    }

    /// Whether each place has its argument, and each argument its place.
    fn fits(&self, args: MessageArgs<'_>) -> bool {
        let is_given = |place: &str| args.iter().any(|(name, _)| *name == place);
        self.places().all(is_given) && args.iter().all(|(name, _)| self.places().any(|place| place == *name))
    }
}

/// The pieces of `text` in their order. A brace without its other half is a word.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((words, name, after)) = next_argument(rest) {
        if !words.is_empty() {
            pieces.push(Piece::Words(words));
        }
        pieces.push(Piece::Argument(name));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Words(rest));
    }
    pieces
}

fn next_argument(text: &str) -> Option<(&str, &str, &str)> {
    let (words, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((words, name, after))
}

/// `text` with its arguments, in one line and at most `limit` bytes. Long arguments are cut, never the words: the next
/// step stays readable. A place without an argument shows its name in braces.
pub(crate) fn fill(text: &str, args: MessageArgs<'_>, limit: usize) -> String {
    let pieces = pieces(text);
    let shown: Vec<Option<String>> = pieces.iter().map(|piece| value(*piece, args)).collect();
    let words: usize =
        pieces.iter().zip(&shown).filter(|(_, value)| value.is_none()).map(|(piece, _)| width(*piece)).sum();
    let share = share(limit.saturating_sub(words), shown.iter().flatten().map(String::len).collect());
    let mut message = String::new();
    for (piece, value) in pieces.iter().zip(shown) {
        match (value, piece) {
            (Some(value), _) => message.push_str(&cut(&value, share)),
            (None, Piece::Words(words)) => message.push_str(words),
            (None, Piece::Argument(name)) => message.push_str(&format!("{{{name}}}")),
        }
    }
    cut(&message, limit)
}

/// What stands at `piece`: one line, whatever the argument's own text holds.
fn value(piece: Piece<'_>, args: MessageArgs<'_>) -> Option<String> {
    let Piece::Argument(wanted) = piece else { return None };
    let (_, argument) = args.iter().find(|(name, _)| *name == wanted)?;
    let text = argument.to_string();
    let one_line = text.split(nodewell_printable::is_hidden).filter(|part| !part.is_empty());
    Some(one_line.collect::<Vec<_>>().join(" "))
}

fn width(piece: Piece<'_>) -> usize {
    match piece {
        Piece::Words(words) => words.len(),
        Piece::Argument(name) => name.len() + "{}".len(),
    }
}

/// The most bytes of one argument, so that all of them together take `room`: short ones leave theirs to the long ones.
fn share(room: usize, mut lengths: Vec<usize>) -> usize {
    lengths.sort_unstable();
    let mut room = room;
    for (index, length) in lengths.iter().enumerate() {
        let each = room / (lengths.len() - index);
        if *length > each {
            return each.max(SHORT);
        }
        room -= length;
    }
    usize::MAX
}

/// `text`, or as much of it as fits into `most` bytes with the sign of a cut.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(CUT.len()));
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_in_their_places() {
        let args: MessageArgs<'_> = &[("mount", &"/var/lib"), ("percent", &97), ("limit", &95)];
        assert_eq!(
            fill("{mount} is {percent} % full (limit {limit} %)", args, LIMIT),
            "/var/lib is 97 % full (limit 95 %)"
        );
    }

    #[test]
    fn a_place_without_an_argument_and_a_lone_brace_are_shown() {
        assert_eq!(fill("{a} and {b", &[], LIMIT), "{a} and {b");
    }

    #[test]
    fn an_argument_is_one_line() {
        assert_eq!(fill("{text}.", &[("text", &"a\nb\r\n\u{1b}c")], LIMIT), "a b c.");
    }

    #[test]
    fn a_long_argument_is_cut_and_the_words_and_the_short_arguments_stay() {
        let (path, error) = ("/p".repeat(4000), "EIO");
        let message = fill("{path} fails with {error}: unmount it", &[("path", &path), ("error", &error)], LIMIT);
        assert!(message.len() <= LIMIT && message.len() > LIMIT - 4, "{}", message.len());
        assert!(message.ends_with("… fails with EIO: unmount it"), "{message}");
    }

    #[test]
    fn what_two_long_arguments_take_is_shared_between_them() {
        let (a, b) = ("a".repeat(1000), "é".repeat(1000));
        let message = fill("{a} {b}", &[("a", &a), ("b", &b)], LIMIT);
        assert!(message.len() <= LIMIT, "{}", message.len());
        assert!(message.matches('a').count() > 100 && message.matches('é').count() > 50, "{message}");
    }

    #[test]
    fn words_that_are_too_long_are_cut_too() {
        assert!(fill(&"w".repeat(1000), &[], LIMIT).len() <= LIMIT);
    }
}
