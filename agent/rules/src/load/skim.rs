//! What a daemon needs of a rule file that was proved before it was shipped: no explanations, origins and comments, and of all
//! examples the one that a test problem is made of. The rest would be parsed only to be forgotten.

/// Keys that are for people and for the proof. A rule that ends has to name a line that ends it: that is little.
const PROSE: [&str; 4] = ["explain", "meaning", "origin", "ignores"];
/// Of these a daemon keeps the first line.
const EXAMPLES: &str = "matches";

/// The text without its prose; each line keeps its number. What is no TOML stays as it is, for the parser to say so.
pub(super) fn skim(text: &str) -> String {
    let mut skimmed = String::with_capacity(text.len() / 2);
    let mut rest = Cursor { text, at: 0 };
    while rest.at < text.len() {
        if rest.statement(&mut skimmed).is_none() {
            return text.to_owned();
        }
    }
    skimmed
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// One line, or all lines of one value.
    fn statement(&mut self, skimmed: &mut String) -> Option<()> {
        let start = self.at;
        let Some(key) = self.key() else {
            let line = self.line();
            match line.trim_start().starts_with('#') {
                true => newlines(line, skimmed),
                false => skimmed.push_str(line),
            }
            return Some(());
        };
        if PROSE.contains(&key) {
            self.value()?;
            self.line();
            newlines(&self.text[start..self.at], skimmed);
        } else if key == EXAMPLES {
            self.examples(start, skimmed)?;
        } else {
            self.value()?;
            self.line();
            skimmed.push_str(&self.text[start..self.at]);
        }
        Some(())
    }

    /// The bare key that a line begins with; the cursor is at its value then.
    fn key(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let length =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').filter(|length| *length > 0)?;
        let (key, behind) = rest.split_at(length);
        let value = behind.trim_start_matches(' ').strip_prefix('=')?;
        self.at = self.text.len() - value.len();
        Some(key)
    }

    /// The rest of the line, with its end.
    fn line(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        self.at += line.len();
        line
    }

    /// `start`: where their key is.
    fn examples(&mut self, start: usize, skimmed: &mut String) -> Option<()> {
        let kept = self.first_line();
        let is_list = self.text[self.at..].trim_start_matches(' ').starts_with('[');
        self.value()?;
        self.line();
        let whole = &self.text[start..self.at];
        match kept.filter(|_| is_list) {
            Some(example) => {
                skimmed.push_str(EXAMPLES);
                skimmed.push_str(" = [");
                skimmed.push_str(example);
                skimmed.push(']');
                newlines(whole, skimmed);
            }
            None => skimmed.push_str(whole),
        }
        Some(())
    }

    /// The first example of the list that is one line. The cursor stays.
    fn first_line(&self) -> Option<&'a str> {
        let mut list = Cursor { text: self.text, at: self.at };
        list.blanks();
        list.skip("[")?;
        loop {
            list.separators()?;
            let start = list.at;
            list.value()?;
            let example = &list.text[start..list.at];
            let is_line = !example.contains('\n') && !example.contains("\\n");
            if is_line {
                return Some(example);
            }
        }
    }

    /// Goes behind one value; none if it has no end.
    fn value(&mut self) -> Option<()> {
        self.blanks();
        let rest = &self.text[self.at..];
        match rest.chars().next()? {
            '\'' if rest.starts_with("'''") => self.behind("'''"),
            '\'' => self.behind("'"),
            '"' if rest.starts_with("\"\"\"") => self.behind("\"\"\""),
            '"' => self.behind("\""),
            '[' => self.nested(']'),
            '{' => self.nested('}'),
            _ => {
                self.at += rest.find([',', ']', '}', '\n', '#']).unwrap_or(rest.len());
                Some(())
            }
        }
    }

    /// Behind a string. Only one in three quotes goes on in the next line.
    fn behind(&mut self, quote: &str) -> Option<()> {
        self.skip(quote)?;
        let (mark, is_long) = (quote.as_bytes()[0], quote.len() == 3);
        let escape = if mark == b'"' { b'\\' } else { mark };
        let no_end = if is_long { mark } else { b'\n' };
        loop {
            self.at += memchr::memchr3(mark, escape, no_end, &self.text.as_bytes()[self.at..])?;
            let rest = &self.text[self.at..];
            if let Some(behind) = rest.strip_prefix(quote) {
                // Up to two more quotes are part of a long string.
                let more = behind.bytes().take_while(|byte| is_long && *byte == mark).count();
                self.at += quote.len() + more.min(2);
                return Some(());
            }
            match rest.as_bytes()[0] {
                b'\n' => return None,
                b'\\' => self.at += rest.chars().take(2).map(char::len_utf8).sum::<usize>(),
                _ => self.at += 1,
            }
        }
    }

    /// Behind a list or a table in a line.
    fn nested(&mut self, close: char) -> Option<()> {
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let next = rest.chars().next()?;
            match next {
                _ if next == close => {
                    self.at += 1;
                    return Some(());
                }
                '\'' | '"' | '[' | '{' => self.value()?,
                '#' => {
                    self.line();
                }
                _ => self.at += next.len_utf8(),
            }
        }
    }

    /// Behind what stands between the values of a list; none at its end.
    fn separators(&mut self) -> Option<()> {
        loop {
            match self.text[self.at..].chars().next()? {
                ' ' | '\t' | '\r' | '\n' | ',' => self.at += 1,
                '#' => {
                    self.line();
                }
                ']' => return None,
                _ => return Some(()),
            }
        }
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn skip(&mut self, what: &str) -> Option<()> {
        self.text[self.at..].starts_with(what).then(|| self.at += what.len())
    }
}

fn newlines(text: &str, skimmed: &mut String) {
    skimmed.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|_| '\n'));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{LoadPlan, load, load::Prose};

    #[test]
    fn what_is_left_of_the_shipped_rules_is_what_a_daemon_keeps() {
        let mut whole = load(&LoadPlan::default());
        whole.set.forget_prose();
        let mut skimmed = load(&LoadPlan { prose: Prose::SkimShipped, ..LoadPlan::default() });
        skimmed.set.forget_prose();
        assert_eq!(skimmed.diagnostics, []);
        assert_eq!(skimmed.set.rules.len(), whole.set.rules.len());
        assert_eq!(format!("{:?}", skimmed.set.conditions), format!("{:?}", whole.set.conditions));
        for (skimmed, mut whole) in skimmed.set.rules.into_iter().zip(whole.set.rules) {
            // A rule that counts may be tried with an example of several lines.
            if let [example] = whole.examples.matches.as_mut_slice()
                && example.text.contains('\n')
            {
                whole.examples.matches = skimmed.examples.matches.clone();
            }
            let strip = |mut rule: crate::Rule| {
                rule.examples.matches.iter_mut().for_each(|example| example.line = 0);
                format!("{rule:?}")
            };
            assert_eq!(strip(skimmed), strip(whole));
        }
    }

    #[test]
    fn much_of_it_is_gone_and_every_line_keeps_its_number() {
        let (mut before, mut after) = (0, 0);
        for file in crate::shipped::FILES {
            let skimmed = skim(file.text);
            assert_eq!(skimmed.matches('\n').count(), file.text.matches('\n').count(), "{}", file.name);
            before += file.text.len();
            after += skimmed.len();
        }
        assert!(after * 5 < before * 3, "{after} of {before}");
    }

    #[test]
    fn what_looks_like_a_key_inside_a_value_is_none() {
        for (text, expected) in [
            ("a = '''\nexplain = 'x'\n'''\nexplain = 'y'\nb = 1\n", "a = '''\nexplain = 'x'\n'''\n\nb = 1\n"),
            ("a = \"\"\"\\\"\"\"\norigin = \"\"\"\"\nb = 1\n", "a = \"\"\"\\\"\"\"\norigin = \"\"\"\"\nb = 1\n"),
            ("ignores = [\n  'a]', # ']\n  { text = \"}\\\"\" },\n]\nb = 2 # c\n", "\n\n\n\nb = 2 # c\n"),
            ("# c\n[[rule]]\nmatches = ['a', 'b']\n", "\n[[rule]]\nmatches = ['a']\n"),
            ("matches = [\n  '''\na\nb''',\n  'c',\n]\n", "matches = ['c']\n\n\n\n\n\n"),
            ("matches = [\"a\\nb\"]\n", "matches = [\"a\\nb\"]\n"),
            ("matches = 'a'\n", "matches = 'a'\n"),
            ("matches = [{ text = 'a', subject = 'b' }, 'c']\n", "matches = [{ text = 'a', subject = 'b' }]\n"),
            ("explain = 'no end\n", "explain = 'no end\n"),
            ("explain=''", ""),
            ("= 1\n", "= 1\n"),
        ] {
            assert_eq!(skim(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_ends_and_keeps_lines_whatever_it_gets(parts in prop::collection::vec(prop::sample::select(vec![
            "explain", "matches", "a", " = ", "=", "'", "'''", "\"", "\"\"\"", "[", "]", "{", "}", ",", "\n", "#", "\\", "ä", " ",
        ]), 0..40)) {
            let text = parts.concat();
            prop_assert_eq!(skim(&text).matches('\n').count(), text.matches('\n').count());
        }
    }
}
