//! What a leader leaves to the next one of logins that a BMC refused, as text in the condition `FenceReady`: a leader that knows
//! nothing would try them again. Any client that may write Nodes could write it, and it only ever delays.

use jiff::Timestamp;

use nodewell_remediation::time::Now;

use super::{
    Role,
    budget::{BUDGET, How, WINDOW},
};

/// Where the message begins: what a BMC or an agent printed comes behind it, and is no stamp.
const BEGIN: &str = "logins: ";
const END: &str = ". ";
const BETWEEN: &str = "; ";
const PREVIOUS: &str = "takes the previous password";
/// A key of a ConfigMap is no longer.
const LONGEST_METHOD: usize = 253;
/// Of what is not a stamp, however many stamps there are.
const LEAST_PROSE_CHARS: usize = 96;

/// Of one method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) method: String,
    /// The last ones, as far as they still count.
    pub(super) spent: Vec<SpentStamp>,
    pub(super) takes_previous: bool,
    pub(super) fingerprint: u32,
    /// Methods of one node with the same one ask the same BMC.
    pub(super) address: u32,
}

impl Stamp {
    /// What is not over by now.
    pub(super) fn still(mut self, now: Now) -> Option<Self> {
        self.spent.retain(|one| now.wall.duration_since(one.at).unsigned_abs() < WINDOW * 2);
        (!self.spent.is_empty() || self.takes_previous).then_some(self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpentStamp {
    pub(super) how: How,
    /// Nothing: an account that the Secret has no more, or that was taken since.
    pub(super) role: Option<Role>,
    pub(super) at: Timestamp,
}

/// `logins: bmc refused current 2026-11-25T19:26:00Z [9c3e5f01 00c0ffee]. `; empty if there are none.
pub(super) fn text(stamps: impl Iterator<Item = Stamp>) -> String {
    let stamps: Vec<String> = stamps.map(one).collect();
    if stamps.is_empty() { String::new() } else { format!("{BEGIN}{}{END}", stamps.join(BETWEEN)) }
}

fn one(stamp: Stamp) -> String {
    let Stamp { method, spent, takes_previous, fingerprint, address } = stamp;
    let spent = spent.iter().map(|one| format!("{} {} {:.0}", how(one.how), role(one.role), one.at));
    let facts: Vec<String> = spent.chain(takes_previous.then(|| PREVIOUS.to_owned())).collect();
    format!("{method} {} [{fingerprint:08x} {address:08x}]", facts.join(", "))
}

fn how(how: How) -> &'static str {
    match how {
        How::Refused => "refused",
        How::Unanswered => "unanswered",
    }
}

fn role(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Current) => "current",
        Some(Role::Previous) => "previous",
        None => "another",
    }
}

/// Those that can be read in a condition's message.
pub(super) fn read(message: &str) -> Vec<Stamp> {
    let stamps = message.strip_prefix(BEGIN).and_then(|rest| rest.split_once(END)).map(|(stamps, _)| stamps);
    stamps.into_iter().flat_map(|stamps| stamps.split(BETWEEN)).filter_map(read_one).collect()
}

/// What is behind the stamps.
pub(in crate::native) fn without(message: &str) -> &str {
    let stamps = message.strip_prefix(BEGIN).and_then(|rest| rest.split_once(END));
    stamps.map_or(message, |(_, rest)| rest)
}

fn read_one(text: &str) -> Option<Stamp> {
    let (text, hashes) = text.strip_suffix(']')?.rsplit_once(" [")?;
    let (fingerprint, address) = hashes.split_once(' ')?;
    let hash = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let (method, facts) = text.split_once(' ').filter(|(method, _)| method.len() <= LONGEST_METHOD)?;
    Some(Stamp {
        method: method.to_owned(),
        spent: facts.split(", ").filter_map(read_spent).take(BUDGET).collect(),
        takes_previous: facts.ends_with(PREVIOUS),
        fingerprint: hash(fingerprint)?,
        address: hash(address)?,
    })
}

fn read_spent(fact: &str) -> Option<SpentStamp> {
    let mut words = fact.split(' ');
    let (how_word, role_word, at) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    let how = [How::Refused, How::Unanswered].into_iter().find(|one| how(*one) == how_word)?;
    let role = [Some(Role::Current), Some(Role::Previous), None].into_iter().find(|one| role(*one) == role_word)?;
    Some(SpentStamp { how, role, at })
}

/// A condition's message of at most so many characters. What a leader left to the next one stays whole, for a part of it would be
/// lost all: where that is long, the message is longer, by no more than lets a person read what is wrong.
#[must_use]
pub fn cut(message: &str, most_chars: usize) -> String {
    let stamps = if message.starts_with(BEGIN) { message.find(END).map_or(0, |at| at + END.len()) } else { 0 };
    let (stamps, prose) = message.split_at(stamps);
    let room = most_chars.saturating_sub(stamps.chars().count());
    let room = if stamps.is_empty() { room } else { room.max(LEAST_PROSE_CHARS) };
    let is_cut = prose.chars().nth(room).is_some();
    let (shown, ellipsis) = if is_cut { (room.saturating_sub(1), "…") } else { (room, "") };
    stamps.chars().chain(prose.chars().take(shown)).chain(ellipsis.chars()).collect()
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::time::Moment;

    use super::*;

    const AT: &str = "2026-11-25T19:26:00Z";

    fn stamp(method: &str, spent: &[(How, Option<Role>)], takes_previous: bool) -> Stamp {
        let spent = spent.iter().map(|(how, role)| SpentStamp { how: *how, role: *role, at: AT.parse().unwrap() });
        Stamp {
            method: method.to_owned(),
            spent: spent.collect(),
            takes_previous,
            fingerprint: 0x9c3e_5f01,
            address: 0x00c0_ffee,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let all = [
            stamp("bmc", &[(How::Refused, Some(Role::Current)), (How::Unanswered, Some(Role::Previous))], false),
            stamp("bmc-2", &[], true),
            stamp("x", &[(How::Refused, None)], true),
        ];
        let text = text(all.iter().cloned());
        assert_eq!(
            text,
            format!(
                "logins: bmc refused current {AT}, unanswered previous {AT} [9c3e5f01 00c0ffee]; bmc-2 takes the previous \
                 password [9c3e5f01 00c0ffee]; x refused another {AT}, takes the previous password [9c3e5f01 00c0ffee]. "
            )
        );
        assert_eq!(read(&format!("{text}level 1: the machine answers. And so on")), all);
        assert_eq!(read(&format!("bmc: it answers {text}")), [], "what a BMC prints is no stamp");
    }

    #[test]
    fn what_is_spent_counts_for_less_than_two_windows_whichever_clock_is_ahead() {
        let still = |seconds: i64| {
            let written = stamp("bmc", &[(How::Refused, Some(Role::Current))], false);
            let wall = AT.parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_secs(seconds);
            written.still(Now { moment: Moment(WINDOW), wall }).is_some()
        };
        let over = (WINDOW * 2).as_secs().cast_signed();
        assert_eq!([over - 1, over, 1 - over, -over].map(still), [true, false, true, false]);
    }

    #[test]
    fn what_is_not_a_stamp_is_none() {
        for text in [
            "",
            "logins: ",
            "logins: . ",
            "logins: bmc",
            "logins: bmc refused current [x]. ",
            "logins: bmc refused current [9c3e5f01]. ",
            "logins: bmc [9c3e5f01 00c0ffee]. ",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
        let long = |length| {
            let method = "m".repeat(length);
            read(&format!("logins: {method} refused current 2026-11-25T19:26:00Z [9c3e5f01 00c0ffee]. ")).len()
        };
        assert_eq!([253, 254].map(long), [1, 0], "no name of a method is so long");
        for fact in
            ["refused", "refused current", "refused other 2026-11-25T19:26:00Z", "taken current 2026-11-25T19:26:00Z"]
        {
            let stamps = read(&format!("logins: bmc {fact} [9c3e5f01 00c0ffee]. "));
            assert_eq!(stamps, [stamp("bmc", &[], false)], "{fact}");
        }
        let cut = format!("logins: bmc refused current {AT} [9c3e5f01 00c0ffee]; bm");
        assert_eq!(read(&cut), [], "a message that was cut is not believed in parts");
    }

    #[test]
    fn a_message_is_cut_behind_its_stamps() {
        let refused = [(How::Refused, Some(Role::Current)), (How::Refused, Some(Role::Previous))];
        let of = |methods: usize| text((0..methods).map(|at| stamp(&format!("bmc-{at}"), &refused, true)));
        let prose = "é".repeat(300);
        assert_eq!(cut(&prose, 256).chars().count(), 256);
        assert!(cut(&prose, 256).ends_with("…"), "one sees that it is cut");
        assert_eq!(cut("short", 256), "short");
        for (methods, chars) in [(0, 256), (1, 256), (3, of(3).len() + LEAST_PROSE_CHARS)] {
            let message = cut(&format!("{}{prose}", of(methods)), 256);
            assert_eq!((read(&message).len(), message.chars().count()), (methods, chars));
        }
    }
}
