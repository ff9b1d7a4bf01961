//! Character classes: in RE2 nothing nests and there are no set operators.

use super::Translator;

/// The ASCII classes that may stand in a class as `[:name:]`.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// A class being written: its items, and whether one of them goes beyond ASCII.
#[derive(Default)]
struct Class {
    items: String,
    wide: bool,
}

impl Translator<'_> {
    /// A class, after its opening bracket.
    pub(super) fn class(&mut self) -> Result<(), String> {
        let negated = self.rest.strip_prefix('^').map(|rest| self.rest = rest).is_some();
        let mut class = Class::default();
        let mut first = true;
        // A bracket that comes first is an item, not the end.
        while first || !self.rest.starts_with(']') {
            self.class_item(&mut class)?;
            first = false;
        }
        self.next();
        let written = format!("[{}{}]", if negated { "^" } else { "" }, class.items);
        self.out.push_str(&if class.wide { format!("(?u:{written})") } else { written });
        Ok(())
    }

    fn class_item(&mut self, class: &mut Class) -> Result<(), String> {
        if let Some((name, rest)) = self.rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) {
            self.rest = rest;
            return class.posix(name);
        }
        if let Some(escape) = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) {
            if let Some(items) = perl(escape) {
                self.rest = &self.rest[2..];
                class.items.push_str(items);
                return Ok(());
            }
            if matches!(escape, 'p' | 'P') {
                self.next();
                class.items.push_str(&self.property()?);
                class.wide = true;
                return Ok(());
            }
        }
        self.class_range(class)
    }

    /// One character, or `a-z`.
    fn class_range(&mut self, class: &mut Class) -> Result<(), String> {
        let low = self.class_character()?;
        class.push(low);
        let Some(rest) = self.rest.strip_prefix('-').filter(|rest| !rest.starts_with(']') && !rest.is_empty()) else {
            return Ok(());
        };
        self.rest = rest;
        let high = self.class_character()?;
        if high < low {
            return Err(format!("the class range {low}-{high} runs backwards"));
        }
        class.items.push('-');
        class.push(high);
        Ok(())
    }

    fn class_character(&mut self) -> Result<char, String> {
        match self.next() {
            Some('\\') => self.escaped_character(),
            Some(c) => Ok(c),
            None => Err("a class lacks its closing ]".to_owned()),
        }
    }
}

impl Class {
    fn push(&mut self, c: char) {
        self.wide |= !c.is_ascii();
        if regex_syntax::is_meta_character(c) {
            self.items.push('\\');
        }
        self.items.push(c);
    }

    fn posix(&mut self, name: &str) -> Result<(), String> {
        if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(format!("RE2 has no class [:{}:]", name.chars().take(20).collect::<String>()));
        }
        self.items.push_str(&format!("[:{name}:]"));
        Ok(())
    }
}

/// Perl's classes, spelled out: with Unicode on, as a wide class needs it, the short forms would not be ASCII.
fn perl(escape: char) -> Option<&'static str> {
    match escape {
        'd' => Some("0-9"),
        'D' => Some("[^0-9]"),
        'w' => Some("0-9A-Za-z_"),
        'W' => Some("[^0-9A-Za-z_]"),
        's' => Some(r"\t\n\f\r "),
        'S' => Some(r"[^\t\n\f\r ]"),
        _ => None,
    }
}
