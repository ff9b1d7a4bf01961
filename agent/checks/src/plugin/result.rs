//! What the end of a run means, by the protocol that its program speaks. Pure.

use std::fmt::Display;

use nodewell_faults::message;
use nodewell_message::MessageArgs;
use nodewell_model::{Name, text};
use nodewell_rules::plugin::Protocol;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// It ran for longer than it may, and was ended by us with all that it had started.
    TimedOut,
    /// By the kernel, when all of it together needed more memory than it may.
    OutOfMemory,
    /// By the kernel, when all plug-ins together, or the node, had no memory left.
    MemoryShortage,
    /// Its program may not be run; why.
    Refused(String),
    /// It could not be started; why.
    NotStarted(String),
}

/// What a program reports of what it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginStatus {
    Ok,
    /// Nagios' warning: less than what it is called when it is critical.
    Warning,
    Problem,
    Unknown,
}

/// A run's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    pub status: PluginStatus,
    /// Why the state is unknown; only with [`PluginStatus::Unknown`].
    pub why: Option<Name>,
    /// One line for people, never empty.
    pub message: String,
}

/// What `end` means, with `output` cut to `limit_bytes`.
#[must_use]
pub fn judge(protocol: Protocol, end: &RunEnd, output: &[u8], limit_bytes: usize) -> RunResult {
    let output = printed(protocol, output, limit_bytes);
    match end {
        RunEnd::Exited(exit_status) => match plugin_status(protocol, *exit_status) {
            PluginStatus::Unknown => {
                let keys = Keys { silent: "PluginSaysUnknown", printed: "PluginSaysUnknown/output" };
                unknown(keys, &[("status", exit_status)], &output)
            }
            status => RunResult { status, why: None, message: output_or_status(output, *exit_status) },
        },
        RunEnd::Signalled(signal) => {
            let keys = Keys { silent: "PluginKilled/signal", printed: "PluginKilled/signal-output" };
            unknown(keys, &[("signal", signal)], &output)
        }
        RunEnd::TimedOut => unknown(Keys { silent: "PluginTimedOut", printed: "PluginTimedOut/output" }, &[], &output),
        RunEnd::OutOfMemory => {
            unknown(Keys { silent: "PluginKilled/memory", printed: "PluginKilled/memory-output" }, &[], &output)
        }
        RunEnd::MemoryShortage => {
            unknown(Keys { silent: "PluginKilled/shortage", printed: "PluginKilled/shortage-output" }, &[], &output)
        }
        // Neither has printed anything.
        RunEnd::Refused(error) => unknown(Keys::silent("PluginRefused"), &[("error", error)], ""),
        RunEnd::NotStarted(error) => unknown(Keys::silent("PluginNotStarted"), &[("error", error)], ""),
    }
}

/// Keys of messages: the one without output, and the one that shows it.
struct Keys {
    silent: &'static str,
    printed: &'static str,
}

impl Keys {
    fn silent(key: &'static str) -> Self {
        Self { silent: key, printed: key }
    }
}

fn unknown(keys: Keys, args: MessageArgs<'_>, output: &str) -> RunResult {
    let key = if output.is_empty() { keys.silent } else { keys.printed };
    let mut all: Vec<(&str, &dyn Display)> = args.to_vec();
    if !output.is_empty() {
        all.push(("output", &output));
    }
    let reason = key.split_once('/').map_or(key, |(reason, _)| reason);
    RunResult { status: PluginStatus::Unknown, why: Some(Name::fixed(reason)), message: message(key, &all) }
}

fn plugin_status(protocol: Protocol, exit_status: i32) -> PluginStatus {
    match (protocol, exit_status) {
        (_, 0) => PluginStatus::Ok,
        (Protocol::Npd, 1) | (Protocol::Nagios, 2) => PluginStatus::Problem,
        (Protocol::Nagios, 1) => PluginStatus::Warning,
        _ => PluginStatus::Unknown,
    }
}

fn output_or_status(output: String, exit_status: i32) -> String {
    if output.is_empty() { message("PluginResult/no-output", &[("status", &exit_status)]) } else { output }
}

/// The message in the output: all of it, or Nagios' first line without its figures.
fn printed(protocol: Protocol, output: &[u8], limit_bytes: usize) -> String {
    let words = match protocol {
        Protocol::Npd => output,
        Protocol::Nagios => {
            let line = output.split(|byte| *byte == b'\n').next().unwrap_or_default();
            line.split(|byte| *byte == b'|').next().unwrap_or_default()
        }
    };
    let clean = text::message(words.trim_ascii());
    text::cut(&clean, limit_bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(protocol: Protocol, exit_status: i32, output: &str) -> (PluginStatus, String) {
        let result = judge(protocol, &RunEnd::Exited(exit_status), output.as_bytes(), 80);
        (result.status, result.message)
    }

    #[test]
    fn exit_statuses_mean_what_their_protocol_defines() {
        for (protocol, exit_status, status) in [
            (Protocol::Npd, 0, PluginStatus::Ok),
            (Protocol::Npd, 1, PluginStatus::Problem),
            (Protocol::Npd, 2, PluginStatus::Unknown),
            (Protocol::Npd, 255, PluginStatus::Unknown),
            (Protocol::Nagios, 0, PluginStatus::Ok),
            (Protocol::Nagios, 1, PluginStatus::Warning),
            (Protocol::Nagios, 2, PluginStatus::Problem),
            (Protocol::Nagios, 3, PluginStatus::Unknown),
            (Protocol::Nagios, 127, PluginStatus::Unknown),
        ] {
            assert_eq!(result(protocol, exit_status, "x").0, status, "{protocol:?} {exit_status}");
        }
    }

    #[test]
    fn nagios_figures_are_no_message() {
        let output = "DISK CRITICAL - free space: / 2% |/=98%;80;90\nlong text | more";
        assert_eq!(result(Protocol::Nagios, 2, output).1, "DISK CRITICAL - free space: / 2%");
        assert!(result(Protocol::Npd, 1, output).1.contains("/=98%"), "Node Problem Detector's is all of it");
    }

    #[test]
    fn a_message_is_cut_between_characters_and_shows_no_hidden_character() {
        let long = "ä".repeat(60);
        assert_eq!(result(Protocol::Npd, 0, &long).1, "ä".repeat(40));
        assert_eq!(result(Protocol::Npd, 0, &format!("x{long}")).1.len(), 79);
        let result = judge(Protocol::Npd, &RunEnd::Exited(1), b" \x1b[31mred\0 \xff\xfe \xe2\x80\xae end\n\n", 80);
        assert_eq!(text::message(result.message.as_bytes()), result.message, "nothing more is to be replaced");
        assert!(!result.message.contains(['\u{1b}', '\0', '\u{202e}']), "{result:?}");
        assert!(result.message.ends_with("end"), "{result:?}");
    }

    #[test]
    fn what_could_not_be_asked_is_unknown_and_reports_why() {
        let of = |end: RunEnd, output: &str| judge(Protocol::Npd, &end, output.as_bytes(), 80);
        let late = of(RunEnd::TimedOut, "halfway");
        let message = "took longer than its timeout and was killed, output: halfway; \
                       run it by hand with env -i PATH=$PATH, or raise its timeout";
        assert_eq!(late.message, message);
        assert_eq!((late.status, late.why.unwrap().as_str()), (PluginStatus::Unknown, "PluginTimedOut"));
        assert_eq!(
            of(RunEnd::Signalled(11), "").message,
            "ended by signal 11; see the kernel log, and journalctl -u nodewell-check"
        );
        let shortage = of(RunEnd::MemoryShortage, "halfway");
        assert_eq!(shortage.why.unwrap().as_str(), "PluginKilled");
        assert!(
            shortage.message.contains("all plug-ins together, or the node") && shortage.message.contains("halfway")
        );
        assert!(of(RunEnd::OutOfMemory, "").message.starts_with("exceeded its memory limit and was killed; "));
        assert_eq!(of(RunEnd::Exited(2), "").message, "exit status 2; run it by hand with env -i PATH=$PATH");
        assert_eq!(of(RunEnd::Exited(1), "").message, "exit status 1, no output; make the plug-in print what it found");
        assert_eq!(of(RunEnd::Refused("x".to_owned()), "").why.unwrap().as_str(), "PluginRefused");
        assert_eq!(of(RunEnd::NotStarted("x".to_owned()), "").why.unwrap().as_str(), "PluginNotStarted");
    }

    proptest::proptest! {
        #[test]
        fn no_output_breaks_it(output in proptest::collection::vec(proptest::num::u8::ANY, 0..300), limit in 0_usize..100, exit_status in 0..4) {
            for protocol in [Protocol::Npd, Protocol::Nagios] {
                let result = judge(protocol, &RunEnd::Exited(exit_status), &output, limit);
                proptest::prop_assert!(!result.message.is_empty());
                let is_own = result.status == PluginStatus::Unknown || result.message.contains(", no output; ");
                let most = if is_own { nodewell_message::LIMIT } else { limit };
                proptest::prop_assert!(result.message.len() <= most, "{result:?}");
            }
        }
    }
}
