//! What plug-ins print, in Node Problem Detector's protocol and in Nagios', and the lines of a check process's worker.

use nodewell_checks::plugin::{PluginStatus, RunEnd, judge};
use nodewell_message::LIMIT;
use nodewell_printable::is_hidden;
use nodewell_rules::plugin::Protocol;

use crate::check_process::{Reply, read_line};

/// By which the output of a run that did not end by itself is cut: a shown one is within this.
const OUTPUT_LIMIT_BYTES: usize = 80;

/// The first byte is the exit status and how the run ended. Only 0 is well, a message is one that a Node may show, and
/// a worker's line that is cut is no reply.
pub fn plugin(input: &[u8]) {
    let Some((choice, output)) = input.split_first() else { return };
    let status = i32::from(choice & 0x1f);
    let end = match choice >> 5 {
        0..=2 => RunEnd::Exited(status),
        3 => RunEnd::MemoryShortage,
        4 => RunEnd::Signalled(status),
        5 => RunEnd::TimedOut,
        6 => RunEnd::OutOfMemory,
        _ => RunEnd::NotStarted("no such file".to_owned()),
    };
    for protocol in [Protocol::Npd, Protocol::Nagios] {
        let result = judge(protocol, &end, output, OUTPUT_LIMIT_BYTES);
        assert_eq!(result.status == PluginStatus::Ok, end == RunEnd::Exited(0), "{result:?}");
        assert_eq!(result.why.is_some(), result.status == PluginStatus::Unknown, "{result:?}");
        assert!((1..=LIMIT).contains(&result.message.len()), "{result:?}");
        assert!(!result.message.contains(|letter: char| is_hidden(letter) && letter != '\n'), "{result:?}");
    }
    replies(output);
}

fn replies(mut lines: &[u8]) {
    while let Ok(Some(line)) = read_line(&mut lines) {
        let Ok(reply) = serde_json::from_str::<Reply>(&line) else { continue };
        let written = serde_json::to_string(&reply).expect("a reply is JSON");
        assert_eq!(serde_json::from_str::<Reply>(&written).ok(), Some(reply));
        let last = line.trim_end().char_indices().next_back().map_or(0, |(at, _)| at);
        assert!(serde_json::from_str::<Reply>(&line[..last]).is_err(), "cut at {last}");
    }
}
