//! How fast a saved log goes through about sixty rules: `cargo run --release -p nodewell-rules --example scan`.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{hint::black_box, sync::Arc, time::Duration};

use nodewell_model::{Name, Severity};
use nodewell_rules::{
    Format, Reader, Replay, Rule, RuleSet, matcher,
    rule::{Clears, Examples, FieldFilter, Format as RuleFormat, Location, Proof},
};

const LINES: usize = 1_000_000;
const LINE_BYTES: usize = 110;
const ROUNDS: usize = 9;

/// What kernels and services print when something is wrong, in the wordings that rules ask for.
const PATTERNS: &[&str] = &[
    r"^(?:Memory cgroup out of memory|Out of memory): Killed? process (?P<pid>\d+) \((?P<subject>.*)\)",
    r"^oom-kill:constraint=(?P<kind>\w+),.*task=(?P<subject>[^,]+),pid=\d+",
    r"^INFO: task (?P<subject>.+):(?P<pid>\d+) blocked for more than \d+ seconds\.",
    r"^INFO: task (?P<subject>.+):(?P<pid>\d+) is blocked on a",
    r"^BUG: kernel NULL pointer dereference, address: ",
    r"^BUG: unable to handle (?:kernel )?(?:NULL pointer dereference|paging request|page fault)",
    r"^Unable to handle kernel (?:NULL pointer dereference|paging request|access to user memory)",
    r"^Internal error: Oops",
    r"^Oops: (?:general protection fault|\d+)",
    r"^general protection fault",
    r"^divide error: 0000 \[#\d+\]",
    r"^invalid opcode: 0000 \[#\d+\]",
    r"^kernel BUG at (?P<subject>\S+)!",
    r"^WARNING: CPU: \d+ PID: \d+ at (?P<subject>\S+)",
    r"^watchdog: BUG: soft lockup - CPU#(?P<subject>\d+) stuck for \d+s!",
    r"^(?:NMI watchdog|watchdog): Watchdog detected hard LOCKUP on cpu (?P<subject>\d+)",
    r"^rcu: INFO: \w+ (?:self-)?detected (?:expedited )?stalls? on CPU",
    r"^unregister_netdevice: waiting for (?P<subject>\S+) to become free\. Usage count = \d+",
    r"^NETDEV WATCHDOG: (?:CPU: \d+: )?(?P<subject>\S+) \([^)]*\): transmit queue \d+ timed out",
    r"^nf_conntrack: (?:nf_conntrack: )?table full, dropping packet",
    r"^EXT4-fs error \(device (?P<subject>[^)]+)\)",
    r"^EXT4-fs warning \(device (?P<subject>[^)]+)\)",
    r"^EXT4-fs \((?P<subject>[^)]+)\): Remounting filesystem read-only",
    r"^Aborting journal on device (?P<subject>\S+?)(?:-\d+)?\.",
    r"^XFS \((?P<subject>[^)]+)\): .*(?:Shutting down filesystem|xfs_do_force_shutdown)",
    r"^XFS \((?P<subject>[^)]+)\): (?:Metadata corruption|Corruption) detected",
    r"^BTRFS error \(device (?P<subject>[^): ]+)",
    r"^BTRFS info \(device (?P<subject>[^): ]+).*\): forced readonly",
    r"^(?:blk_update_request: )?(?:critical )?(?:I/O|medium|target|nexus) error, dev (?P<subject>\w+), sector \d+",
    r"^Buffer I/O error on dev(?:ice)? (?P<subject>\w+), logical block",
    r"^nvme (?P<subject>nvme\d+): I/O (?:tag )?\d+ .*timeout, ",
    r"^nvme (?P<subject>nvme\d+): controller is down; will reset",
    r"^nvme (?P<subject>nvme\d+): (?:Device not ready|Removing after probe failure|Disabling device after)",
    r"^(?P<subject>ata\d+(?:\.\d+)?): (?:exception Emask|failed command|COMRESET failed)",
    r"^ata\d+: hard resetting link",
    r"^md/raid\d*:(?P<subject>md\w+): Disk failure on \w+, disabling device",
    r"^nfs: server (?P<subject>\S+) not responding, (?:still trying|timed out)",
    r"^nfs: server (?P<subject>\S+) OK",
    r"^mce: \[Hardware Error\]: Machine check events logged",
    r"^mce: \[Hardware Error\]: CPU (?P<subject>\d+): Machine Check(?: Exception)?: ",
    r"^Memory failure: 0x[0-9a-f]+: recovery action for .*: (?:Recovered|Ignored|Failed)",
    r"^EDAC (?P<subject>MC\d+): \d+ CE ",
    r"^EDAC (?P<subject>MC\d+): \d+ UE ",
    r"^\{\d+\}\[Hardware Error\]: event severity: corrected",
    r"^\{\d+\}\[Hardware Error\]: event severity: recoverable",
    r"^\{\d+\}\[Hardware Error\]: event severity: fatal",
    r"^pcieport \S+: AER: (?:Multiple )?Corr(?:ected|ectable) error",
    r"^(?P<subject>\S+ \S+): PCIe Bus Error: severity=(?:Uncorrect(?:ed|able) \(Non-Fatal\)|Corrected)",
    r"^(?P<subject>\S+ \S+): PCIe Bus Error: severity=Uncorrect(?:ed|able) \(Fatal\)",
    r"^CPU\d+: (?:Core|Package) temperature(?:/speed)? (?:is )?above threshold, cpu clock (?:is )?throttled",
    r"^(?P<subject>.+)\[\d+\]: segfault at [0-9a-f]+ ip",
    r"^traps: (?P<subject>.+)\[\d+\] trap invalid opcode",
    r"^Kernel panic - not syncing: ",
    r"^sd \S+: \[(?P<subject>\w+)\] .*(?:Medium Error|FAILED Result)",
    r"^(?P<subject>\S+): (?:NIC Link is|Link is) Down",
    r"^mlx5_core \S+: .*(?:health compromised|synd 0x)",
    r"^NVRM: Xid \(PCI:(?P<subject>[0-9a-f:.]+)\): (?P<code>\d+),",
    r"^hung_task: blocked tasks",
    r"^overlayfs: .*(?:failed|error)",
    r"^(?i:acpi error): .*(?:thermal|AE_NOT_FOUND)",
];

const HITS: &[&str] = &[
    "EXT4-fs error (device sda1): ext4_lookup:1855: inode #2: comm ls: deleted inode referenced: 12",
    "INFO: task dockerd:2031 blocked for more than 120 seconds.",
    "Out of memory: Killed process 1012 (heapster) total-vm:327128kB, anon-rss:306328kB",
    "blk_update_request: I/O error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x0",
];

/// Ordinary lines; `#` becomes a digit, the rest is made up to the length of a line.
const QUIET: &[&str] = &[
    "pci 0000:0#:1#.#: BAR #: assigned [mem 0xfe#00000-0xfe#fffff 64bit pref]",
    "audit: type=1400 audit(16#####.###:##): apparmor=\"STATUS\" operation=\"profile_load\" name=\"usr.sbin.#\"",
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth##a#c#: link becomes ready",
    "cni0: port ##(veth#b#d#) entered forwarding state",
    "device veth#c##e# entered promiscuous mode",
    "usb #-#: new high-speed USB device number ## using xhci_hcd",
    "eth0: renamed from veth#a##f##",
    "systemd[1]: Reloading daemon configuration unit ## of ###",
    "e820: update [mem 0x0000####-0x000#ffff] usable ==> reserved",
    "EXT4-fs (dm-##): mounted filesystem with ordered data mode. Quota mode: none.",
    "TCP: request_sock_TCP: Possible SYN flooding on port ####. Sending cookies.",
    " ? do_syscall_64+0x##/0x##0 entry_SYSCALL_64_after_hwframe+0x##/0xd8",
];

fn main() {
    let set = Arc::new(rule_set());
    let corpus = corpus(10_000);
    let matcher = matcher::Matcher::new(&set, 0).unwrap();
    println!("{} rules, {} in the slow lane, {} bytes", set.rules.len(), matcher.slow_lane().count(), corpus.len());
    let newlines = measure(|| memchr::memchr_iter(b'\n', &corpus).count() as u64);
    report("memchr pass (the limit)", newlines, corpus.len());
    let alone = measure(|| matcher.count_candidates(black_box(&corpus)));
    report("scan alone, in memory", alone, corpus.len());
    println!("{:<34}{:>7.2} %", "lines selected", 100.0 * matcher.count_candidates(&corpus) as f64 / LINES as f64);
    println!("{:<34}{:>7.0} %", "scan / memchr pass", 100.0 * newlines.as_secs_f64() / alone.as_secs_f64());
    report("replay, 1 hit in 10,000", replay_time(&set, &corpus), corpus.len());
    let hits = self::corpus(1);
    report("replay, nothing but hits", replay_time(&set, &hits), hits.len());
}

fn replay_time(set: &Arc<RuleSet>, corpus: &[u8]) -> Duration {
    measure(|| {
        let mut findings = 0;
        Replay::new(Arc::clone(set), Format::Kmsg).run(black_box(corpus), |_| findings += 1).unwrap();
        findings
    })
}

/// The median of [`ROUNDS`].
fn measure(mut work: impl FnMut() -> u64) -> Duration {
    let mut round = || {
        let start = processor_time();
        black_box(work());
        processor_time() - start
    };
    round();
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    times.sort();
    times[ROUNDS / 2]
}

/// What this thread has had of a processor: other work on the machine does not count.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

fn report(what: &str, time: Duration, bytes: usize) {
    let secs = time.as_secs_f64();
    println!("{what:<34}{:>7.1} M lines/s {:>8.0} MB/s", LINES as f64 / secs / 1e6, bytes as f64 / secs / 1e6);
}

fn corpus(one_hit_in: usize) -> Vec<u8> {
    let (mut log, mut random) = (Vec::with_capacity(LINES * (LINE_BYTES + 1)), 0x9e37_79b9_7f4a_7c15_u64);
    for n in 0..LINES {
        let end = log.len() + LINE_BYTES;
        log.extend(format!("6,{n},{},-;", n * 1000).bytes());
        let pick = |random: &mut u64, from: &[&'static str]| from[(step(random) % from.len() as u64) as usize];
        let text = if n % one_hit_in == one_hit_in / 2 { pick(&mut random, HITS) } else { pick(&mut random, QUIET) };
        log.extend(text.bytes().map(|byte| if byte == b'#' { b'0' + (step(&mut random) % 10) as u8 } else { byte }));
        while log.len() < end {
            log.extend(format!(" {:x}", step(&mut random) >> 24).bytes());
        }
        log.truncate(end);
        log.push(b'\n');
    }
    log
}

/// One step of xorshift: the corpus is the same in every run.
fn step(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn rule_set() -> RuleSet {
    let rules = PATTERNS.iter().enumerate().map(|(n, pattern)| rule(n, pattern)).collect();
    RuleSet { conditions: Vec::new(), readers: vec![Reader::Kmsg], rules }
}

fn rule(n: usize, pattern: &str) -> Rule {
    Rule {
        location: Location { file: "scan.rs".into(), line: n + 1 },
        format: RuleFormat::Native,
        monitor: "kernel-monitor".into(),
        reader: 0,
        reason: Name::new(&format!("Rule{n}")).unwrap(),
        condition: None,
        severity: Severity::Warn,
        patterns: vec![pattern.to_owned()],
        lines: 1,
        fields: FieldFilter::default(),
        proof: Proof::None,
        counting: None,
        clears: Clears::default(),
        action: None,
        message_suffix: None,
        lookback: None,
        boot_delay: None,
        origin: String::new(),
        explain: String::new(),
        examples: Examples::default(),
    }
}
