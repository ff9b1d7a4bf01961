//! The command lines of its own programs, as its flag library reads them: `--name=value`, `--name value`, `--switch`.

use std::time::Duration;

use super::super::json::Text;
use crate::{duration, nearest::did_you_mean, report::Report};

/// Flags of its logging library, which all of its programs take.
const LOGGING: [&str; 12] = [
    "v",
    "vmodule",
    "logtostderr",
    "alsologtostderr",
    "stderrthreshold",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "log_backtrace_at",
    "skip_headers",
    "skip_log_headers",
    "add_dir_header",
];

/// What a program takes.
pub(in crate::npd) struct Known<'a> {
    pub(in crate::npd) program: &'a str,
    /// Flags with a value.
    pub(in crate::npd) values: &'a [&'a str],
    pub(in crate::npd) switches: &'a [&'a str],
}

/// A command line that was understood. Of equal flags the last one counts.
pub(in crate::npd) struct Flags<'a>(Vec<(&'a str, Text)>);

impl<'a> Flags<'a> {
    /// Reads `args`; what the program would refuse is an error.
    pub(in crate::npd) fn read(args: &'a [Text], known: &Known<'_>, report: &mut Report<'_>) -> Self {
        let mut found = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let Some(flag) = arg.text.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
                report.error(arg.at, format!("{} takes flags only, not {:?}", known.program, shown(&arg.text)));
                continue;
            };
            let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            let value = match (value, known.values.contains(&name)) {
                (Some(value), _) => Text { text: value.to_owned(), at: arg.at },
                (None, false) => Text { text: "true".to_owned(), at: arg.at },
                (None, true) => match rest.next() {
                    Some(next) => Text { text: next.text.clone(), at: next.at },
                    None => {
                        report.error(arg.at, format!("--{name} lacks its value"));
                        continue;
                    }
                },
            };
            known.judge(name, arg, report);
            found.push((name, value));
        }
        Self(found)
    }

    /// A flag's value; empty counts as absent.
    pub(in crate::npd) fn text(&self, name: &str) -> Option<&Text> {
        let found = self.0.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).filter(|value| !value.text.is_empty())
    }

    /// All values of a flag that may be repeated.
    pub(in crate::npd) fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Text> {
        self.0.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(in crate::npd) fn duration(&self, name: &str, report: &mut Report<'_>) -> Option<Duration> {
        let value = self.text(name)?;
        let parsed = duration::parse_go(&value.text);
        parsed.inspect_err(|error| report.error(value.at, format!("--{name}: {error}"))).ok()
    }

    /// As Go's `strconv.ParseBool` has it.
    pub(in crate::npd) fn switch(&self, name: &str, report: &mut Report<'_>) -> Option<bool> {
        let value = self.text(name)?;
        match value.text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            other => {
                report.error(value.at, format!("--{name} takes true or false, not {:?}", shown(other)));
                None
            }
        }
    }
}

impl Known<'_> {
    fn judge(&self, name: &str, arg: &Text, report: &mut Report<'_>) {
        let all = || self.values.iter().chain(self.switches).copied();
        if all().any(|known| known == name) {
            return;
        }
        if LOGGING.contains(&name) {
            report.note(arg.at, format!("--{name} is passed over: no program is run"));
            return;
        }
        let hint = did_you_mean(name, all());
        report.error(arg.at, format!("{} has no flag --{}{hint}", self.program, shown(name)));
    }
}

fn shown(text: &str) -> &str {
    nodewell_model::text::cut(text, 64)
}
