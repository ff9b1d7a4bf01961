//! Go's regular expressions (RE2's syntax) as the `regex` crate writes them.
//!
//! The two are near relatives. What differs: `\Q…\E`; octal escapes; `\xFF` is a character in Go and a byte here; Go's
//! `\s` has no vertical tab; a brace that is no repetition is itself; and in a class `[`, `&&`, `--` and `~~` mean
//! nothing special. Matching is by bytes, as a log line need not be UTF-8: `.` and negated classes take one byte of a
//! longer character at a time, which shows only where such characters are counted.

mod class;
#[cfg(test)]
mod tests;

/// The pattern in the `regex` crate's syntax, for `regex::bytes`; it sets its own flags.
///
/// # Errors
/// What is not RE2's syntax, or has no counterpart here.
pub fn translate_re2(pattern: &str) -> Result<String, String> {
    let mut translator = Translator { rest: pattern, out: String::with_capacity(pattern.len() + 8) };
    translator.out.push_str("(?-u)");
    while let Some(c) = translator.next() {
        translator.item(c)?;
    }
    Ok(translator.out)
}

/// What is left to read, and what was written.
struct Translator<'a> {
    rest: &'a str,
    out: String,
}

impl Translator<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn item(&mut self, c: char) -> Result<(), String> {
        match c {
            '\\' => return self.escape(),
            '[' => return self.class(),
            '(' => return self.group(),
            '{' => self.brace(),
            // These two mean something only after a partner, which was read together with them.
            '}' | ']' => self.literal(c),
            c if c.is_ascii() => self.out.push(c),
            c => self.literal(c),
        }
        Ok(())
    }

    /// A character that stands for itself. Beyond ASCII it needs Unicode's rules, for `(?i)` and for repetition.
    fn literal(&mut self, c: char) {
        if !c.is_ascii() {
            self.out.push_str("(?u:");
            self.out.push(c);
            self.out.push(')');
            return;
        }
        if regex_syntax::is_meta_character(c) {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(c) = self.rest.chars().next() else { return Err("the pattern ends with a \\".to_owned()) };
        match c {
            'Q' => self.quoted(),
            'd' | 'D' | 'w' | 'W' | 'b' | 'B' | 'A' | 'z' => {
                self.next();
                self.out.extend(['\\', c]);
            }
            's' | 'S' => {
                self.next();
                self.out.push_str(if c == 's' { r"[\t\n\f\r ]" } else { r"[^\t\n\f\r ]" });
            }
            'p' | 'P' => {
                let property = self.property()?;
                self.out.push_str(&format!("(?u:{property})"));
            }
            _ => {
                let character = self.escaped_character()?;
                self.literal(character);
            }
        }
        Ok(())
    }

    /// `\Q…\E`: everything in between stands for itself.
    fn quoted(&mut self) {
        self.next();
        let (text, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
        self.rest = rest;
        text.chars().for_each(|c| self.literal(c));
    }

    /// `\p{Greek}` or `\pN`, after the backslash.
    fn property(&mut self) -> Result<String, String> {
        let end = match (self.rest.as_bytes().get(1), self.rest.find('}')) {
            (Some(b'{'), Some(end)) => end + 1,
            (Some(b), _) if b.is_ascii_alphabetic() => 2,
            _ => return Err("\\p takes a Unicode class such as \\pN or \\p{Greek}".to_owned()),
        };
        let (property, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(format!("\\{property}"))
    }

    /// The one character that an escape stands for, after the backslash.
    fn escaped_character(&mut self) -> Result<char, String> {
        let c = self.next().ok_or("the pattern ends with a \\")?;
        match c {
            'a' => Ok('\x07'),
            'f' => Ok('\x0c'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\x0b'),
            'x' => self.hexadecimal(),
            '0'..='7' => self.octal(c),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(c),
            c => Err(format!("RE2 has no escape \\{c}")),
        }
    }

    /// `\x7F` or `\x{10FFFF}`, after the x.
    fn hexadecimal(&mut self) -> Result<char, String> {
        let refusal = || "\\x takes two hexadecimal digits or {…}".to_owned();
        let (digits, rest) = match self.rest.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or_else(refusal)?,
            None => self.rest.split_at_checked(2).ok_or_else(refusal)?,
        };
        self.rest = rest;
        let hexadecimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = if hexadecimal { u32::from_str_radix(digits, 16).ok() } else { None };
        code.and_then(char::from_u32).ok_or_else(refusal)
    }

    /// Up to three octal digits. One digit alone would be a back-reference, which RE2 refuses too.
    fn octal(&mut self, first: char) -> Result<char, String> {
        let more = self.rest.bytes().take(2).take_while(|b| matches!(b, b'0'..=b'7')).count();
        if first != '0' && more == 0 {
            return Err(format!("RE2 has no back-references (\\{first})"));
        }
        let (digits, rest) = self.rest.split_at(more);
        self.rest = rest;
        let code = u32::from_str_radix(&format!("{first}{digits}"), 8).ok();
        code.and_then(char::from_u32).ok_or_else(|| "an octal escape is out of range".to_owned())
    }

    /// `(`, `(?P<name>`, `(?flags)` or `(?flags:`; RE2 has no other group.
    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        let Some(inside) = self.rest.strip_prefix('?') else { return Ok(()) };
        let named = inside.strip_prefix('P').unwrap_or(inside).strip_prefix('<');
        let end = match named {
            Some(name) if !name.starts_with(['=', '!']) => inside.find('>'),
            _ => inside.find([':', ')']).filter(|end| inside[..*end].chars().all(|c| "imsU-".contains(c))),
        };
        let end = end.ok_or("after (? RE2 takes P<name>, the flags i, m, s, U, or a colon; it has no look-around")?;
        let (head, rest) = inside.split_at(end + 1);
        self.out.push('?');
        self.out.push_str(head);
        self.rest = rest;
        Ok(())
    }

    /// A repetition such as `{2,5}` is copied; any other brace is itself.
    fn brace(&mut self) {
        let inside = self.rest.split_once('}').map(|(inside, _)| inside).filter(|inside| is_repetition(inside));
        match inside {
            Some(inside) => {
                self.out.push_str(&format!("{{{inside}}}"));
                self.rest = &self.rest[inside.len() + 1..];
            }
            None => self.literal('{'),
        }
    }
}

fn is_repetition(inside: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match inside.split_once(',') {
        None => number(inside),
        Some((least, most)) => number(least) && (most.is_empty() || number(most)),
    }
}
