//! What the end of a run means, by the protocol that its program speaks. Pure.

use nodewell_model::{Name, text};
use nodewell_rules::plugin::Protocol;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// It ran for longer than it may, and was ended by us with all that it had started.
    TimedOut,
    /// By the kernel, when all of it together needed more memory than it may.
    OutOfMemory,
    /// Its program may not be run; why.
    Refused(String),
    /// It could not be started; why.
    NotStarted(String),
}

/// What a program reports of what it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Well,
    /// Nagios' warning: less than what it is called when it is critical.
    Warning,
    Bad,
    Unknown,
}

/// A run's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub word: Word,
    /// Why the state is unknown; only with [`Word::Unknown`].
    pub why: Option<Name>,
    /// One line for people, never empty.
    pub message: String,
}

/// Reasons of what is unknown; `nodewell explain` has them.
const TIMED_OUT: &str = "PluginTimedOut";
const REFUSED: &str = "PluginRefused";
const NOT_STARTED: &str = "PluginNotStarted";
const KILLED: &str = "PluginKilled";
const SAYS_UNKNOWN: &str = "PluginSaysUnknown";

/// What `ending` means, with `output` cut to `limit_bytes`.
#[must_use]
pub fn judge(protocol: Protocol, ending: &Ending, output: &[u8], limit_bytes: usize) -> Said {
    let message = message(protocol, output, limit_bytes);
    let unknown = |why, cause: String| {
        let message = if message.is_empty() { cause } else { format!("{cause}; it said: {message}") };
        Said { word: Word::Unknown, why: Some(Name::fixed(why)), message }
    };
    match ending {
        Ending::Exited(status) => match word(protocol, *status) {
            Word::Unknown => unknown(SAYS_UNKNOWN, format!("exit status {status}")),
            word => Said { word, why: None, message: spoken(message, *status) },
        },
        Ending::Signalled(signal) => unknown(KILLED, format!("ended by signal {signal}")),
        Ending::TimedOut => unknown(TIMED_OUT, "took too long and was killed".to_owned()),
        Ending::OutOfMemory => unknown(KILLED, "needed more memory than it may, and was killed".to_owned()),
        Ending::Refused(why) => unknown(REFUSED, format!("not run: {why}")),
        Ending::NotStarted(why) => unknown(NOT_STARTED, format!("cannot be started: {why}")),
    }
}

fn word(protocol: Protocol, status: i32) -> Word {
    match (protocol, status) {
        (_, 0) => Word::Well,
        (Protocol::Npd, 1) | (Protocol::Nagios, 2) => Word::Bad,
        (Protocol::Nagios, 1) => Word::Warning,
        _ => Word::Unknown,
    }
}

fn spoken(message: String, status: i32) -> String {
    if message.is_empty() { format!("exit status {status}, without a word") } else { message }
}

/// The message in the output: all of it, or Nagios' first line without its figures.
fn message(protocol: Protocol, output: &[u8], limit_bytes: usize) -> String {
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

    fn said(protocol: Protocol, status: i32, output: &str) -> (Word, String) {
        let said = judge(protocol, &Ending::Exited(status), output.as_bytes(), 80);
        (said.word, said.message)
    }

    #[test]
    fn exit_statuses_mean_what_their_protocol_says() {
        for (protocol, status, word) in [
            (Protocol::Npd, 0, Word::Well),
            (Protocol::Npd, 1, Word::Bad),
            (Protocol::Npd, 2, Word::Unknown),
            (Protocol::Npd, 255, Word::Unknown),
            (Protocol::Nagios, 0, Word::Well),
            (Protocol::Nagios, 1, Word::Warning),
            (Protocol::Nagios, 2, Word::Bad),
            (Protocol::Nagios, 3, Word::Unknown),
            (Protocol::Nagios, 127, Word::Unknown),
        ] {
            assert_eq!(said(protocol, status, "x").0, word, "{protocol:?} {status}");
        }
    }

    #[test]
    fn nagios_figures_are_no_message() {
        let output = "DISK CRITICAL - free space: / 2% |/=98%;80;90\nlong text | more";
        assert_eq!(said(Protocol::Nagios, 2, output).1, "DISK CRITICAL - free space: / 2%");
        assert!(said(Protocol::Npd, 1, output).1.contains("/=98%"), "Node Problem Detector's is all of it");
    }

    #[test]
    fn a_message_is_cut_between_characters_and_shows_no_control_character() {
        let long = "ä".repeat(60);
        assert_eq!(said(Protocol::Npd, 0, &long).1, "ä".repeat(40));
        assert_eq!(said(Protocol::Npd, 0, &format!("x{long}")).1.len(), 79);
        let said = judge(Protocol::Npd, &Ending::Exited(1), b" \x1b[31mred\0 \xff\xfe end\n\n", 80);
        assert!(!said.message.chars().any(char::is_control), "{said:?}");
        assert!(said.message.ends_with("end"), "{said:?}");
    }

    #[test]
    fn what_could_not_be_asked_is_unknown_and_says_why() {
        let of = |ending: Ending, output: &str| judge(Protocol::Npd, &ending, output.as_bytes(), 80);
        let late = of(Ending::TimedOut, "halfway");
        assert_eq!(late.message, "took too long and was killed; it said: halfway");
        assert_eq!((late.word, late.why.unwrap().as_str()), (Word::Unknown, "PluginTimedOut"));
        assert_eq!(of(Ending::Signalled(11), "").message, "ended by signal 11");
        assert_eq!(of(Ending::Exited(2), "").message, "exit status 2");
        assert_eq!(of(Ending::Exited(1), "").message, "exit status 1, without a word");
        assert_eq!(of(Ending::Refused("x".to_owned()), "").why.unwrap().as_str(), "PluginRefused");
        assert_eq!(of(Ending::NotStarted("x".to_owned()), "").why.unwrap().as_str(), "PluginNotStarted");
    }

    proptest::proptest! {
        #[test]
        fn no_output_breaks_it(output in proptest::collection::vec(proptest::num::u8::ANY, 0..300), limit in 0_usize..100, status in 0..4) {
            for protocol in [Protocol::Npd, Protocol::Nagios] {
                let said = judge(protocol, &Ending::Exited(status), &output, limit);
                proptest::prop_assert!(!said.message.is_empty());
                proptest::prop_assert!(said.message.len() <= limit.max(24) + 40);
            }
        }
    }
}
