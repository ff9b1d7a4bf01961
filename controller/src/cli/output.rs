//! `--output`: whether a command writes for people or for programs.

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::CommandError;

/// The forms of `--output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
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
    /// The same as --output json, for scripts
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

impl Output {
    /// `value` as programs read it; `None`: text for people.
    pub(super) fn document(self, value: impl FnOnce() -> Value) -> Result<Option<String>, CommandError> {
        match self.output {
            Format::Json => Ok(Some(format!("{}\n", value()))),
            Format::Text if self.json => Ok(Some(format!("{}\n", value()))),
            Format::Yaml => yaml(&value()).map(Some),
            Format::Text => Ok(None),
        }
    }
}

fn yaml(value: &Value) -> Result<String, CommandError> {
    serde_saphyr::to_string(value).map_err(|error| CommandError::Message(format!("cannot write YAML: {error}")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        output: Output,
    }

    fn written(words: &[&str]) -> Option<String> {
        let line = Line::try_parse_from([&["x"], words].concat()).ok()?;
        line.output.document(|| json!({ "node": "w1", "next": null, "why": "a: b" })).unwrap()
    }

    #[test]
    fn programs_read_the_same_in_either_form() {
        let value = json!({ "node": "w1", "next": null, "why": "a: b" });
        for words in [&["--json"][..], &["-o", "json"], &["--output=yaml"], &["-oyaml"]] {
            let text = written(words).unwrap();
            assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value, "{words:?}: {text}");
            assert_eq!(text.starts_with('{'), !words.concat().contains("yaml"), "{words:?}");
        }
        for words in [&[][..], &["-o", "text"], &["--json", "-o", "yaml"], &["-o", "xml"]] {
            assert_eq!(written(words), None, "{words:?}");
        }
    }
}
