//! `nodewell replay`: the rules over a saved log, one finding a line.

mod input;
mod plain;
mod unread;

use std::{
    fmt,
    io::{ErrorKind, Write},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

use clap::{Args, ValueEnum};
use jiff::{Timestamp, tz::TimeZone};
use nodewell_rules::{
    Format, LoadPlan, Prose, Replay as Run, ReplayError, ReplayFinding, ReplayOptions, Replayed,
    replay::{Calendar, ReplayKind, Unread},
};
use nodewell_time::local;

use super::{
    error::{CONFIG, CommandError, DATA, NO_INPUT},
    out::Out,
    output::{Document, Output},
    render::{Look, Paint, one_line, severity_paint},
    rules::{RuleChoice, loaded},
};
use input::Input;
use unread::UnreadRow;

/// Run the rules over a saved log and print what they find, one finding a line.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dmesg | nodewell replay -
  nodewell replay /var/log/kern.log
  journalctl -o json -b -1 | nodewell replay --format journal-json --json -
  nodewell replay --rules ./my-rules capture.kmsg

Read as they are: gzip, xz and zstd; UTF-16; colours; quotations and indented code;
dmesg in all its forms, --json too; journalctl -o short and its kin, --no-hostname too,
and of each line no more than kernel: and the text; journalctl -o verbose, export, json,
json-pretty, json-sse and json-seq; RFC 3164 and 5424, and such lines with
2026-11-21 02:31:05.123; logs of containers (json-file, CRI); talosctl dmesg. Exit code
65: the file is of another form. Lines of another form within a log are counted at the
end, and the first is named; as JSON they are one object more: line, kind (unread),
count, message (its text). Rules that look at a journal's fields, such as
FrequentKubeletRestart at the unit, find nothing in a text log that does not show these:
journalctl -o json has all.

Times without a zone are taken for this machine's, without a year for the last ones that
were. Nothing is reported to anyone. A problem that ends when nothing repeats it is
shown to end (clear) with a later line, perhaps the last, and the time when it was
over. As JSON each finding is one object a line: line, time, source, type,
condition, reason, severity, subject, message, kind (raise or clear).")]
pub(super) struct Replay {
    /// The log; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How the log was saved.
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    format: FormatName,
    #[command(flatten)]
    output: Output,
    /// Believe records in the kernel log that user space wrote.
    #[arg(long)]
    any_facility: bool,
    /// Report also what only the live host could prove, such as whose process it was.
    #[arg(long)]
    unproven: bool,
    #[command(flatten)]
    rules: RuleChoice,
}

/// The forms of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// Detected from the first lines.
    Auto,
    /// Raw records of /dev/kmsg.
    Kmsg,
    /// What dmesg prints, or a serial console shows; also messages without any prefix.
    Dmesg,
    /// syslog, kern.log, messages, or journalctl as text.
    Syslog,
    /// journalctl -o json.
    JournalJson,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Auto => Self::Auto,
            FormatName::Kmsg => Self::Kmsg,
            FormatName::Dmesg => Self::Dmesg,
            FormatName::Syslog => Self::Syslog,
            FormatName::JournalJson => Self::JournalJson,
        }
    }
}

impl Replay {
    pub(super) fn run(self, out: &mut Out) -> Result<(), CommandError> {
        // A finding shows nothing of what rules explain and prove.
        let plan = LoadPlan { prose: Prose::SkimShipped, ..self.rules.plan() };
        let set = Arc::new(loaded(&plan)?);
        let input = Input::open(&self.file)?;
        let options = ReplayOptions {
            any_facility: self.any_facility,
            unproven: self.unproven,
            calendar: Calendar { zone: TimeZone::system(), now: Some(Timestamp::now()) },
        };
        let run = Run::new(set, self.format.into()).with_options(options);
        let printer = Printer { out, form: self.output.document(), look: Look::of_stdout(), zone: TimeZone::system() };
        let summary = print_all(&run, input, self.format, printer)?;
        out.flush()?;
        eprint_line(&summary);
        Ok(())
    }
}

fn print_all(run: &Run, input: Input, asked: FormatName, mut printer: Printer<'_>) -> Result<String, CommandError> {
    let (start, stop, damage) = (Instant::now(), input.stop(), input.damage());
    let mut counts = Counts::default();
    let mut failed: Option<CommandError> = None;
    let replayed = run.run(input, |finding| {
        if failed.is_none() {
            counts.add(finding.kind);
            failed = printer.print(finding).err();
            // No reader is left: the rest of the log need not be read either.
            stop.set(failed.is_some());
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let Replayed { lines, is_recognised, unread } = replayed.map_err(not_replayed)?;
    let is_unknown = !is_recognised && counts.is_zero() && lines > 0;
    if is_recognised || is_unknown {
        printer.print_unread(&unread)?;
    }
    if let Some(error) = damage.take() {
        let message = format!("the log ends early, after {lines} lines and {counts}: {error}");
        return Err(CommandError::new(DATA, message));
    }
    if is_unknown {
        return Err(CommandError::new(DATA, unread::of_unknown_form(&unread, asked)));
    }
    let seconds = start.elapsed().as_secs_f32();
    let more = unread::summed_up(&unread, is_recognised, asked).map_or_else(String::new, |words| format!("; {words}"));
    Ok(format!("{lines} lines, {counts}, {seconds:.1} s{more}"))
}

/// What was found, and what was shown to end.
#[derive(Debug, Default)]
struct Counts {
    findings: u64,
    ends: u64,
}

impl Counts {
    fn add(&mut self, kind: ReplayKind) {
        match kind {
            ReplayKind::Raise => self.findings += 1,
            ReplayKind::Clear => self.ends += 1,
        }
    }

    fn is_zero(&self) -> bool {
        self.findings + self.ends == 0
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |count: u64| if count == 1 { "" } else { "s" };
        let Self { findings, ends } = *self;
        write!(f, "{findings} finding{}", s(findings))?;
        if ends == 0 { Ok(()) } else { write!(f, ", {ends} end{}", s(ends)) }
    }
}

fn not_replayed(error: ReplayError) -> CommandError {
    match error {
        ReplayError::Rules(diagnostics) => {
            let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            CommandError::new(CONFIG, lines.join("\n"))
        }
        ReplayError::Read(error) if error.kind() == ErrorKind::InvalidData => {
            CommandError::new(DATA, format!("cannot read the log: {error}"))
        }
        ReplayError::Read(error) => CommandError::new(NO_INPUT, format!("cannot read the log: {error}")),
    }
}

fn eprint_line(line: &str) {
    // Without stderr there is nowhere to write to.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// How findings are written.
struct Printer<'a> {
    out: &'a mut Out,
    form: Option<Document>,
    look: Look,
    zone: TimeZone,
}

impl Printer<'_> {
    fn print(&mut self, finding: &ReplayFinding) -> Result<(), CommandError> {
        match self.form {
            Some(Document::Json) => Ok(self.out.json_row(|row| finding.write_json(row))?),
            Some(form) => self.out.row(form, finding),
            None => Ok(self.out.line(&line(finding, &self.look, &self.zone))?),
        }
    }

    /// For programs only: people have it in the summary.
    fn print_unread(&mut self, unread: &Unread) -> Result<(), CommandError> {
        match (self.form, UnreadRow::of(unread)) {
            (Some(form), Some(row)) => self.out.row(form, &row),
            _ => Ok(()),
        }
    }
}

/// Line number, time, severity (or that it ends), reason, subject, message.
fn line(finding: &ReplayFinding, look: &Look, zone: &TimeZone) -> String {
    let (word, paint) = match finding.kind {
        ReplayKind::Raise => (finding.severity.as_str(), severity_paint(finding.severity)),
        ReplayKind::Clear => ("clear", Paint::Good),
    };
    format!(
        "{:>7}  {:<25}  {}  {:<20}  {:<12}  {}",
        finding.line,
        finding.time.map_or_else(|| "-".to_owned(), |time| local(time, zone)),
        look.paint(paint, &format!("{word:<8}")),
        finding.reason,
        one_line(finding.subject.as_deref().unwrap_or("-")),
        one_line(&finding.message),
    )
}

#[cfg(test)]
mod tests {
    use nodewell_model::{Name, Severity};
    use nodewell_rules::replay::ProblemType;

    use super::*;

    #[test]
    fn an_end_is_no_finding() {
        let shown = |findings, ends| Counts { findings, ends }.to_string();
        assert_eq!(shown(1, 1), "1 finding, 1 end");
        assert_eq!((shown(0, 0).as_str(), shown(2, 3).as_str()), ("0 findings", "2 findings, 3 ends"));
    }

    #[test]
    fn a_finding_is_one_line() {
        let mut finding = ReplayFinding {
            line: 42,
            time: Some("2026-11-21T02:00:00.5Z".parse().unwrap()),
            source: "kernel-monitor".into(),
            lasting: ProblemType::Permanent,
            condition: Some(Name::fixed("DiskUnhealthy")),
            reason: Name::fixed("IOError"),
            severity: Severity::Error,
            subject: Some("sda".to_owned()),
            message: "I/O error\nsector 1".to_owned(),
            kind: ReplayKind::Raise,
        };
        assert_eq!(
            line(&finding, &Look::PLAIN, &TimeZone::UTC),
            "     42  2026-11-21T02:00:00+00:00  error     IOError               sda           I/O error sector 1"
        );
        finding.kind = ReplayKind::Clear;
        finding.time = None;
        finding.subject = None;
        assert_eq!(
            line(&finding, &Look::PLAIN, &TimeZone::UTC),
            "     42  -                          clear     IOError               -             I/O error sector 1"
        );
    }
}
