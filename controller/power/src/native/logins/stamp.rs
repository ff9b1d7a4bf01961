//! What a leader leaves to the next one of logins that a BMC refused, as text in the condition `FenceReady`: a leader that knows
//! nothing would try them again. Any client that may write Nodes could write it, and it only ever delays.

use jiff::Timestamp;

const BEGIN: &str = "logins: ";
const END: &str = ". ";
const BETWEEN: &str = "; ";
const REFUSED: &str = "refused, last ";
const PREVIOUS: &str = "takes the previous password";

/// Of one method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) method: String,
    /// How many lately, and when the last was.
    pub(super) refused: Option<(usize, Timestamp)>,
    pub(super) takes_previous: bool,
    pub(super) fingerprint: u32,
}

/// `logins: bmc 2 refused, last 2026-11-25T19:26:00Z [9c3e5f01]. `; empty if there are none.
pub(super) fn text(stamps: impl Iterator<Item = Stamp>) -> String {
    let stamps: Vec<String> = stamps.map(one).collect();
    if stamps.is_empty() { String::new() } else { format!("{BEGIN}{}{END}", stamps.join(BETWEEN)) }
}

fn one(stamp: Stamp) -> String {
    let refused = stamp.refused.map(|(count, at)| format!("{count} {REFUSED}{at:.0}"));
    let previous = stamp.takes_previous.then(|| PREVIOUS.to_owned());
    let facts: Vec<String> = refused.into_iter().chain(previous).collect();
    format!("{} {} [{:08x}]", stamp.method, facts.join(", "), stamp.fingerprint)
}

/// Those that can be read in a condition's message.
pub(super) fn read(message: &str) -> Vec<Stamp> {
    let stamps = message.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(stamps, _)| stamps);
    stamps.into_iter().flat_map(|stamps| stamps.split(BETWEEN)).filter_map(read_one).collect()
}

fn read_one(text: &str) -> Option<Stamp> {
    let (text, fingerprint) = text.strip_suffix(']')?.rsplit_once(" [")?;
    let fingerprint = u32::from_str_radix(fingerprint, 16).ok()?;
    let (method, facts) = text.split_once(' ')?;
    let takes_previous = facts.ends_with(PREVIOUS);
    let refused = facts.split_once(' ').and_then(|(count, rest)| {
        let at = rest.strip_prefix(REFUSED)?.split(',').next()?;
        Some((count.parse().ok()?, at.parse().ok()?))
    });
    Some(Stamp { method: method.to_owned(), refused, takes_previous, fingerprint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let at = Some((2, "2026-11-25T19:26:00Z".parse().unwrap()));
        let stamp = |method: &str, refused, takes_previous| Stamp {
            method: method.to_owned(),
            refused,
            takes_previous,
            fingerprint: 0x9c3e_5f01,
        };
        let all = [stamp("bmc", at, false), stamp("bmc-2", None, true), stamp("x", at, true)];
        let text = text(all.iter().cloned());
        assert_eq!(
            text,
            "logins: bmc 2 refused, last 2026-11-25T19:26:00Z [9c3e5f01]; bmc-2 takes the previous password [9c3e5f01]; \
             x 2 refused, last 2026-11-25T19:26:00Z, takes the previous password [9c3e5f01]. "
        );
        assert_eq!(read(&format!("level 1: {text}the machine answers. And so on")), all);
    }

    #[test]
    fn what_is_not_a_stamp_is_none() {
        for text in
            ["", "logins: ", "logins: . ", "logins: bmc", "logins: bmc 1 refused [x]. ", "logins: bmc [9c3e5f01]. "]
        {
            assert_eq!(read(text), [], "{text}");
        }
        let cut = "logins: bmc 1 refused, last 2026-11-25T19:26:00Z [9c3e5f01]; bm";
        assert_eq!(read(cut), [], "a message that was cut is not believed in parts");
    }
}
