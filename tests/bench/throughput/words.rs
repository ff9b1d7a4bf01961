//! A word that many lines of some machine hold, and many rules, too: what it costs where no rule matches.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use nodewell_rules::{Format, RuleSet};

use super::{LINES, NPD, memchr_pass, real_logs::boots, replay, replayed};
use crate::{corpus::Corpus, table::Row};

const TARGET_MEGA_LINES: f64 = 3.0;
/// So many lines show which word is the slowest.
const TRIED_LINES: usize = LINES / 5;
const TRIED_ROUNDS: usize = 3;

/// Drivers, devices and what they are about, as they stand in lines of healthy machines.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "nvme", "queue", "queues", "device", "link", "Link is", "timeout", "timed out", "error", "Error:", "failed",
    "Failed to", "reset", "memory", "out of memory", "CPU", "cpu", "kernel", "Hardware Error", "temperature",
    "thermal", "throttled", "watchdog", "blocked for", "stuck", "stall", "lockup", "BUG:", "WARNING:", "INFO:",
    "Oops", "panic", "segfault", "I/O error", "sector", "Buffer", "journal", "EXT4-fs", "EXT4-fs error", "XFS",
    "BTRFS", "md/raid1:", "raid", "disk", "scsi", "sd 0:0:0:0:", "ata1", "ata1.00:", "usb", "pci", "pcieport",
    "AER:", "eth0:", "bond0:", "NETDEV", "transmit", "ixgbe", "i40e", "mlx5_core", "bnxt_en", "NIC Link is Up",
    "firmware", "module", "amdgpu", "amdgpu:", "[drm]", "NVRM:", "NVRM: Xid", "GPU", "nfs:", "server",
    "not responding", "libceph:", "rbd:", "drbd", "iscsi", "session", "multipath:", "device-mapper:", "connection",
    "swap", "mounted", "filesystem", "read-only", "systemd[1]:", "Started", "kubelet", "containerd", "docker0:",
    "oom", "Killed process", "cgroup", "task", "audit:", "EDAC MC0:", "mce:", "microcode:", "tpm",
];

pub(super) fn rows(set: &Arc<RuleSet>, rounds: usize) -> Vec<Row> {
    let texts = texts(&boots());
    let slowest = WORDS.iter().max_by_key(|word| time_of(set, &with_word(&texts, word, TRIED_LINES)));
    let word = slowest.expect("there are words");
    let corpus = with_word(&texts, word, LINES);
    let measure = format!("replay in memory, worst single common word: `{word}` of {}", WORDS.len());
    vec![
        memchr_pass("  one memchr pass over the same, the limit", &corpus, rounds),
        replayed(measure, set, Format::Kmsg, &corpus, rounds).at_least(TARGET_MEGA_LINES).npd(NPD),
    ]
}

/// The best of a few rounds.
fn time_of(set: &Arc<RuleSet>, corpus: &Corpus) -> Duration {
    let round = |_| {
        let start = Instant::now();
        replay(set, Format::Kmsg, corpus);
        start.elapsed()
    };
    (0..TRIED_ROUNDS).map(round).min().unwrap_or_default()
}

/// What the records say.
fn texts(log: &[u8]) -> Vec<String> {
    let lines = log.split(|byte| *byte == b'\n').filter(|line| line.first().is_some_and(u8::is_ascii_digit));
    let text = |line: &[u8]| String::from_utf8_lossy(line).split_once(';').map(|(_, text)| text.to_owned());
    lines.filter_map(text).collect()
}

/// The word is the first of one line and the last of the next.
fn with_word(texts: &[String], word: &str, lines: usize) -> Corpus {
    let with_word = texts
        .iter()
        .enumerate()
        .map(|(index, text)| if index.is_multiple_of(2) { format!("{word} {text}") } else { format!("{text} {word}") });
    Corpus::of_texts(&with_word.collect::<Vec<_>>(), lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_word() {
        let texts = texts(b"6,1,2,-;one\n SUBSYSTEM=pci\n6,2,3,-;two\n");
        let corpus = with_word(&texts, "nvme", 3);
        assert_eq!(corpus.bytes, b"6,0,0,-;nvme one\n6,1,1000,-;two nvme\n6,2,2000,-;nvme one\n");
        assert_eq!(corpus.lines, 3);
    }

    #[test]
    fn no_word_is_there_twice() {
        let mut words = WORDS.to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), WORDS.len());
    }
}
