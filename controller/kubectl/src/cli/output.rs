//! `--output`: whether a command writes for people or for programs.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use crate::{
    error::{CommandError, SOFTWARE},
    text::{Extent, Look, Page},
};

/// The forms of `--output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, as wide as the terminal
    #[default]
    Text,
    /// For people, with all there is: nothing is cut or folded
    Wide,
    /// A JSON document
    Json,
    /// The same as YAML
    Yaml,
}

/// What a command was asked to write.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct Output {
    /// How to write it
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t, hide_default_value = true)]
    output: Format,
    /// All of it, and what is well, too
    #[arg(long, short)]
    all: bool,
}

impl Output {
    /// Whether what is left out by default is asked for.
    pub(super) fn all(self) -> bool {
        self.all || self.output == Format::Wide
    }

    /// To standard output, whole.
    pub(super) fn write<T: Serialize>(
        self,
        view: &T,
        now: Timestamp,
        text: impl FnOnce(&T, &Page) -> String,
    ) -> Result<(), CommandError> {
        let text = match self.output {
            Format::Json => json(view)?,
            Format::Yaml => yaml(view)?,
            Format::Text | Format::Wide => text(view, &self.page(now)),
        };
        let mut out = io::stdout().lock();
        Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
    }

    fn page(self, now: Timestamp) -> Page {
        let extent = match (self.output, self.all) {
            (Format::Wide, _) => Extent::Wide,
            (_, true) => Extent::All,
            (_, false) => Extent::Folded,
        };
        Page { look: Look::of_stdout(), extent, now, zone: TimeZone::system() }
    }
}

fn json<T: Serialize>(view: &T) -> Result<String, CommandError> {
    let text = serde_json::to_string_pretty(view);
    text.map(|text| text + "\n").map_err(|error| CommandError::new(SOFTWARE, format!("cannot write JSON: {error}")))
}

/// Made of the same values as JSON: names, numbers, texts and lists alone.
fn yaml<T: Serialize>(view: &T) -> Result<String, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::new(SOFTWARE, format!("cannot write YAML: {error}"));
    let value = serde_json::to_value(view).map_err(|error| failed(&error))?;
    serde_saphyr::to_string(&value).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn yaml_is_read_back_as_what_was_written() {
        let value = json!({ "node": "worker-7", "status": "True", "count": 7, "none": [], "text": "a: b\n#c" });
        assert_eq!(serde_saphyr::from_str::<Value>(&yaml(&value).unwrap()).unwrap(), value);
        assert_eq!(serde_json::from_str::<Value>(&super::json(&value).unwrap()).unwrap(), value);
    }
}
