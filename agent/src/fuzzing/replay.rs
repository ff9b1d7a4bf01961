//! Saved logs in every format we read (journalctl's JSON among them), through all shipped rules; and each line of them
//! as a message of the journal that may be an object.

use std::{
    io::ErrorKind,
    sync::{Arc, LazyLock},
};

use nodewell_model::text::MESSAGE_LIMIT_BYTES;
use nodewell_rules::{Format, LoadPlan, Replay, ReplayError, ReplayOptions, RuleSet, json_log, load};

static RULES: LazyLock<Arc<RuleSet>> = LazyLock::new(|| Arc::new(load(&LoadPlan::default()).set));

/// The first byte chooses the format. Every line is read; a finding is of a line that is there. An object that is read
/// as a text is read as one line.
pub fn replay(input: &[u8]) {
    let Some((choice, log)) = input.split_first() else { return };
    let formats = [Format::Auto, Format::Kmsg, Format::Dmesg, Format::Syslog, Format::JournalJson];
    let format = formats[usize::from(*choice) % formats.len()];
    let options = ReplayOptions { any_facility: true, unproven: true, ..ReplayOptions::default() };
    let lines = log.split(|byte| *byte == b'\n').count() as u64;
    let replayed = Replay::new(Arc::clone(&RULES), format).with_options(options).run(log, |finding| {
        assert!((1..=lines).contains(&finding.line), "line {} of {lines}", finding.line);
        assert!(finding.message.len() <= MESSAGE_LIMIT_BYTES);
        serde_json::to_string(finding).expect("a finding is JSON");
    });
    let read = match replayed {
        Ok(replayed) => replayed.lines,
        Err(ReplayError::Read(error)) if error.kind() == ErrorKind::InvalidData => return,
        Err(error) => panic!("memory can be read, and the shipped rules hold: {error}"),
    };
    assert!(read <= lines, "{read} of {lines} lines");
    log.split(|byte| *byte == b'\n').chain([log]).for_each(message);
}

fn message(message: &[u8]) {
    let Some(text) = json_log::text_of(message) else { return };
    assert!(!text.is_empty() && text.len() <= json_log::LIMIT_BYTES, "{} bytes", text.len());
    assert!(!text.contains(&b'\n'), "a message is one line");
    assert_eq!(json_log::text_of(&text), None, "a text stands for itself");
}
