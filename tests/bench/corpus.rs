//! A kernel log to be read at full speed, the same in every run: ordinary lines with a fault here and there.

use nodewell_rules::{Reader, RuleSet};

/// What a line has on kernel logs of nodes that were looked at.
const LINE_BYTES: usize = 110;

/// What a healthy node prints; `#` becomes a digit, and the rest of the line is made up.
const ORDINARY: &[&str] = &[
    "audit: type=1400 audit(17######.###:##): apparmor=\"STATUS\" operation=\"profile_load\" profile=\"unconfined\"",
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth##a#c#: link becomes ready",
    "cni0: port ##(veth#b#d#) entered forwarding state",
    "veth#c##e#: entered promiscuous mode",
    "eth0: renamed from veth#a##f##",
    "pci 0000:0#:1#.#: BAR #: assigned [mem 0xfe#00000-0xfe#fffff 64bit pref]",
    "usb #-#: new high-speed USB device number ## using xhci_hcd",
    "EXT4-fs (dm-##): mounted filesystem with ordered data mode. Quota mode: none.",
    "TCP: eth#: Driver has suspect GRO implementation, TCP performance may be compromised.",
    "systemd[1]: Reloading requested from client PID ##### ('systemctl') (unit session-##.scope)...",
    "docker0: port ##(veth#b#d#) entered blocking state",
    "overlayfs: upperdir is in-use as upperdir/workdir of another mount, accessing files is undefined.",
];

/// One line in so many looks like a fault and is none.
const ONE_NEAR_MISS_IN: usize = 1000;

/// Lines of the `kmsg` format.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lines: usize,
    pub(crate) hits: usize,
}

impl Corpus {
    /// `lines` lines, one in `one_hit_in` of them the example of a shipped rule.
    pub(crate) fn new(set: &RuleSet, lines: usize, one_hit_in: usize) -> Self {
        let (faults, near_misses) = (examples(set, LineKind::Fault), examples(set, LineKind::NearMiss));
        let mut corpus = Self { bytes: Vec::with_capacity(lines * (LINE_BYTES + 1)), lines, hits: 0 };
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for number in 0..lines {
            let end = corpus.bytes.len() + LINE_BYTES;
            corpus.bytes.extend(format!("6,{number},{},-;", number * 1000).bytes());
            if number % one_hit_in == one_hit_in / 2 {
                corpus.bytes.extend(random.of(&faults).bytes());
                corpus.hits += 1;
            } else if number % ONE_NEAR_MISS_IN == 0 {
                corpus.bytes.extend(random.of(&near_misses).bytes());
            } else {
                random.ordinary_line(&mut corpus.bytes, end);
            }
            corpus.bytes.push(b'\n');
        }
        corpus
    }

    /// Whole copies of `log`, one behind the other, of at least `lines` lines.
    pub(crate) fn repeated(log: &[u8], lines: usize) -> Self {
        let each = memchr::memchr_iter(b'\n', log).count().max(1);
        let copies = lines.div_ceil(each);
        Self { bytes: log.repeat(copies), lines: each * copies, hits: 0 }
    }

    /// `lines` lines with these texts, which take turns.
    pub(crate) fn of_texts(texts: &[String], lines: usize) -> Self {
        let mut bytes = Vec::new();
        for (number, text) in texts.iter().cycle().take(lines).enumerate() {
            bytes.extend(format!("6,{number},{},-;{text}\n", number * 1000).bytes());
        }
        Self { bytes, lines, hits: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Fault,
    NearMiss,
}

/// A line of this kind from every shipped rule for the kernel log that fires on one line alone.
fn examples(set: &RuleSet, kind: LineKind) -> Vec<String> {
    let on_kernel_log = |reader: usize| set.readers.get(reader) == Some(&Reader::Kmsg);
    let rules = set.rules.iter().filter(|rule| on_kernel_log(rule.reader) && rule.counting.is_none());
    let of_kind = rules.filter_map(|rule| match kind {
        LineKind::Fault => rule.examples.matches.first(),
        LineKind::NearMiss => rule.examples.ignores.first(),
    });
    let texts = of_kind.map(|example| example.text.clone());
    texts.filter(|text| text.bytes().all(|byte| (b' '..=b'~').contains(&byte))).collect()
}

/// An xorshift generator: good enough to spread lines, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn of<'a, T>(&mut self, choice: &'a [T]) -> &'a T {
        let index = self.next() % choice.len() as u64;
        &choice[usize::try_from(index).expect("it is below a length")]
    }

    fn ordinary_line(&mut self, bytes: &mut Vec<u8>, end: usize) {
        for byte in self.of(ORDINARY).bytes() {
            let digit = b'0' + u8::try_from(self.next() % 10).expect("it is a digit");
            bytes.push(if byte == b'#' { digit } else { byte });
        }
        while bytes.len() < end {
            bytes.extend(format!(" {:x}", self.next() >> 24).bytes());
        }
        bytes.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nodewell_rules::{Format, LoadPlan, Replay, load};

    use super::*;

    /// Else there were far more hits than the rows say.
    #[test]
    fn no_ordinary_line_is_a_hit() {
        let texts: Vec<String> = ORDINARY.iter().map(|line| line.replace('#', "7")).collect();
        let (log, mut found) = (Corpus::of_texts(&texts, texts.len()), Vec::new());
        let replay = Replay::new(Arc::new(load(&LoadPlan::default()).set), Format::Kmsg);
        replay.run(&log.bytes[..], |finding| found.push(finding.message.clone())).expect("memory can be read");
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_corpus_is_the_same_every_time() {
        let set = load(&LoadPlan::default()).set;
        let (first, second) = (Corpus::new(&set, 20_000, 10_000), Corpus::new(&set, 20_000, 10_000));
        assert_eq!(first.bytes, second.bytes);
        assert_eq!((first.lines, first.hits), (20_000, 2));
        assert_eq!(first.bytes.iter().filter(|byte| **byte == b'\n').count(), 20_000);
    }

    #[test]
    fn a_log_is_repeated_whole() {
        let repeated = Corpus::repeated(b"a\nb\n", 3);
        assert_eq!((&*repeated.bytes, repeated.lines), (&b"a\nb\na\nb\n"[..], 4));
    }

    #[test]
    fn a_file_of_hits_has_nothing_else() {
        let set = load(&LoadPlan::default()).set;
        assert_eq!(Corpus::new(&set, 100, 1).hits, 100);
        assert!(examples(&set, LineKind::Fault).len() > 20 && examples(&set, LineKind::NearMiss).len() > 20);
    }
}
