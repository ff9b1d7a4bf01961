//! Words of a command line → flags, or what is printed instead of running.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    process::ExitCode,
};

use clap_lex::{ArgCursor, ParsedArg, RawArgs};
use nodewell_command::exit_code::USAGE;
use nodewell_settings::nearest::nearest;

use super::{
    FLAGS, NAME, VERSION,
    flag::{Flag, ValueError},
    help::{help, usage},
};
use crate::config::Flags;

/// What is printed instead of running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instead {
    /// What was asked: the help, or the version.
    Answer(String),
    /// What is wrong with the command line.
    Wrong(String),
}

impl Instead {
    /// Prints it; the exit code goes with it. A closed stdout is no reason to change that.
    #[must_use]
    pub fn print(&self) -> ExitCode {
        match self {
            Self::Answer(text) => {
                let _ = std::io::stdout().write_all(text.as_bytes());
                ExitCode::SUCCESS
            }
            Self::Wrong(text) => {
                let _ = std::io::stderr().write_all(text.as_bytes());
                ExitCode::from(USAGE)
            }
        }
    }
}

/// Reads the words behind the program's name.
pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Flags, Instead> {
    let words = RawArgs::new(words);
    let (mut cursor, mut flags, mut given) = (words.cursor(), Flags::default(), Vec::new());
    while let Some(word) = words.next(&mut cursor) {
        if word.is_escape() {
            // What follows would be no flag, and nothing else is taken.
            return words.next_os(&mut cursor).map_or(Ok(flags), |word| Err(unexpected(&word.to_string_lossy())));
        }
        let (flag, attached) = flag_of(&word)?;
        if given.contains(&flag.name) && !flag.may_repeat() {
            return Err(wrong(&format!("the argument '{flag}' cannot be used multiple times")));
        }
        given.push(flag.name);
        let value = match attached {
            Some(value) if !flag.takes_value() => {
                let value = value.to_string_lossy();
                return Err(wrong(&format!("unexpected value '{value}' for '{flag}' found; no more were expected")));
            }
            None if flag.takes_value() => next_value(&words, &mut cursor).ok_or_else(|| missing(flag))?,
            attached => attached.unwrap_or_default(),
        };
        flag.set(&mut flags, value).map_err(|error| refused(flag, value, error))?;
    }
    Ok(flags)
}

/// The flag that a word names, and the value that stands in the same word.
fn flag_of<'w>(word: &ParsedArg<'w>) -> Result<(&'static Flag, Option<&'w OsStr>), Instead> {
    let named = match (word.to_long(), word.to_short()) {
        (Some((Ok(name), value)), _) => match (name, value) {
            ("help", None) => return Err(Instead::Answer(help())),
            ("version", None) => return Err(version()),
            _ => FLAGS.iter().find(|flag| flag.name == name).map(|flag| (flag, value)),
        },
        (None, Some(mut letters)) => match letters.next_flag() {
            Some(Ok('h')) => return Err(Instead::Answer(help())),
            Some(Ok('V')) => return Err(version()),
            _ => None,
        },
        _ => None,
    };
    named.ok_or_else(|| unexpected(&word.display().to_string()))
}

fn version() -> Instead {
    Instead::Answer(format!("{NAME} {VERSION}\n"))
}

/// The word that follows, unless that is a flag.
fn next_value<'w>(words: &'w RawArgs, cursor: &mut ArgCursor) -> Option<&'w OsStr> {
    let next = words.peek(cursor)?;
    let is_flag = next.is_long() || next.is_short() || next.is_escape();
    if is_flag { None } else { words.next_os(cursor) }
}

fn refused(flag: &Flag, value: &OsStr, error: ValueError) -> Instead {
    let why = match error {
        ValueError::Empty => return missing(flag),
        ValueError::NotUtf8 => "it is no UTF-8".to_owned(),
        ValueError::Invalid(why) => why,
    };
    wrong(&format!("invalid value '{}' for '{flag}': {why}", value.to_string_lossy()))
}

fn missing(flag: &Flag) -> Instead {
    wrong(&format!("a value is required for '{flag}' but none was supplied"))
}

fn unexpected(word: &str) -> Instead {
    let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
    let is_long = word.starts_with("--");
    let near = nearest(name, FLAGS.iter().filter(|flag| !flag.is_hidden).map(|flag| flag.name)).filter(|_| is_long);
    let tip = near.map(|near| format!("\n\n  tip: a similar argument exists: '--{near}'")).unwrap_or_default();
    wrong(&format!("unexpected argument '{word}' found{tip}"))
}

fn wrong(what: &str) -> Instead {
    Instead::Wrong(format!("error: {what}\n\n{}\n\nFor more information, try '--help'.\n", usage()))
}
