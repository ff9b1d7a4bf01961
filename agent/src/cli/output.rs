//! `--output`: whether a command writes for people or for programs. Every command takes it that finds something out.

use clap::{Args, ValueEnum};

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

/// A form for programs. Its fields are only ever added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Document {
    Json,
    Yaml,
}

/// What a command was asked to write.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct Output {
    /// How to write it.
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t, hide_default_value = true)]
    output: Format,
    /// The same as --output json.
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

impl Output {
    /// The document that programs read; `None`: text for people.
    pub(super) fn document(self) -> Option<Document> {
        match self.output {
            _ if self.json => Some(Document::Json),
            Format::Json => Some(Document::Json),
            Format::Yaml => Some(Document::Yaml),
            Format::Text | Format::Wide => None,
        }
    }

    /// Whether people shall see all there is.
    pub(super) fn is_wide(self) -> bool {
        self.output == Format::Wide
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        output: Output,
    }

    fn parsed(words: &[&str]) -> Result<(Option<Document>, bool), clap::Error> {
        let line = Line::try_parse_from([&["x"], words].concat())?;
        Ok((line.output.document(), line.output.is_wide()))
    }

    #[test]
    fn json_is_a_synonym_and_contradicts_the_others() {
        for (words, expected) in [
            (&[][..], (None, false)),
            (&["--json"], (Some(Document::Json), false)),
            (&["-o", "json"], (Some(Document::Json), false)),
            (&["-oyaml"], (Some(Document::Yaml), false)),
            (&["--output=wide"], (None, true)),
            (&["-o", "text"], (None, false)),
        ] {
            assert_eq!(parsed(words).unwrap(), expected, "{words:?}");
        }
        assert!(parsed(&["--json", "-o", "yaml"]).is_err());
        assert!(parsed(&["-o", "xml"]).is_err());
    }
}
