//! A flag: what it is called, what it takes, and where in [`Flags`] that goes.

use std::{ffi::OsStr, fmt, path::PathBuf};

use clap::{Arg, ArgAction, builder::PathBufValueParser};

use crate::config::Flags;

/// One of them.
pub(super) struct Flag {
    pub(super) name: &'static str,
    /// What its value is called; empty where it takes none.
    pub(super) value: &'static str,
    pub(super) help: &'static str,
    pub(super) is_hidden: bool,
    takes: Takes,
}

enum Takes {
    Nothing(fn(&mut Flags) -> &mut bool),
    Path(fn(&mut Flags) -> &mut Option<PathBuf>),
    /// It may be given several times.
    Paths(fn(&mut Flags) -> &mut Vec<PathBuf>),
    Text(fn(&mut Flags, &str) -> Result<(), String>),
}

/// Why a value is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ValueError {
    Empty,
    NotUtf8,
    Invalid(String),
}

impl Flag {
    pub(super) const fn switch(name: &'static str, help: &'static str, field: fn(&mut Flags) -> &mut bool) -> Self {
        Self { name, value: "", help, is_hidden: false, takes: Takes::Nothing(field) }
    }

    pub(super) const fn path(
        name: &'static str,
        value: &'static str,
        help: &'static str,
        field: fn(&mut Flags) -> &mut Option<PathBuf>,
    ) -> Self {
        Self { name, value, help, is_hidden: false, takes: Takes::Path(field) }
    }

    pub(super) const fn paths(
        name: &'static str,
        value: &'static str,
        help: &'static str,
        field: fn(&mut Flags) -> &mut Vec<PathBuf>,
    ) -> Self {
        Self { name, value, help, is_hidden: false, takes: Takes::Paths(field) }
    }

    pub(super) const fn text(
        name: &'static str,
        value: &'static str,
        help: &'static str,
        read: fn(&mut Flags, &str) -> Result<(), String>,
    ) -> Self {
        Self { name, value, help, is_hidden: false, takes: Takes::Text(read) }
    }

    /// What only our own programs and tests set.
    pub(super) const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    pub(super) fn takes_value(&self) -> bool {
        !matches!(self.takes, Takes::Nothing(_))
    }

    pub(super) fn may_repeat(&self) -> bool {
        matches!(self.takes, Takes::Paths(_))
    }

    /// Sets it in `flags`.
    pub(super) fn set(&self, flags: &mut Flags, value: &OsStr) -> Result<(), ValueError> {
        match self.takes {
            Takes::Nothing(field) => *field(flags) = true,
            Takes::Path(_) | Takes::Paths(_) if value.is_empty() => return Err(ValueError::Empty),
            Takes::Path(field) => *field(flags) = Some(value.into()),
            Takes::Paths(field) => field(flags).push(value.into()),
            Takes::Text(read) => {
                let text = value.to_str().ok_or(ValueError::NotUtf8)?;
                read(flags, text).map_err(ValueError::Invalid)?;
            }
        }
        Ok(())
    }

    pub(super) fn described(&self) -> Arg {
        let argument = Arg::new(self.name).long(self.name).help(self.help).hide(self.is_hidden);
        match self.takes {
            Takes::Nothing(_) => argument.action(ArgAction::SetTrue),
            Takes::Path(_) => argument.value_name(self.value).value_parser(PathBufValueParser::new()),
            Takes::Paths(_) => {
                let path = argument.value_name(self.value).value_parser(PathBufValueParser::new());
                path.action(ArgAction::Append)
            }
            Takes::Text(read) => {
                let checked = move |text: &str| read(&mut Flags::default(), text).map(|()| text.to_owned());
                argument.value_name(self.value).value_parser(checked)
            }
        }
    }
}

/// `--config <FILE>`.
impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.name)?;
        if self.takes_value() { write!(f, " <{}>", self.value) } else { Ok(()) }
    }
}
