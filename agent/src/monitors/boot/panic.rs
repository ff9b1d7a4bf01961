//! What a dump shows of a panic: its line, what led to it, where it happened. Only the kernel's own lines are believed.

use std::fmt;

/// Where a kernel's last message begins (`vpanic`).
const PANIC: &str = "Kernel panic - not syncing: ";
/// How faults that can end in a panic announce themselves: x86, then arm64.
const CAUSES: [&str; 12] = [
    "BUG: ",
    "kernel BUG at ",
    "general protection fault",
    "watchdog: BUG: ",
    "watchdog: Watchdog detected hard LOCKUP",
    "NMI watchdog: Watchdog detected hard LOCKUP",
    "INFO: task ",
    "mce: [Hardware Error]: CPU ",
    "{1}[Hardware Error]: ",
    "Unable to handle kernel ",
    "Internal error: ",
    "Out of memory: ",
];
/// Of a cause, for the message: it has 1,024 bytes in all.
const CAUSE_LIMIT_BYTES: usize = 240;
const LINE_LIMIT_BYTES: usize = 400;

/// A kernel's end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Panic {
    /// The panic's own line.
    pub line: String,
    /// The fault before it, where there is one.
    pub cause: Option<String>,
    pub cpu: Option<u32>,
    /// The task that ran.
    pub task: Option<String>,
    /// The first module on the stack.
    pub module: Option<String>,
    pub kernel: Option<String>,
    /// By the kernel's clock.
    pub since_boot_secs: Option<u64>,
}

/// The first panic in `text`; `None` if it has none.
#[must_use]
pub fn panic_of(text: &[u8]) -> Option<Panic> {
    let lines: Vec<Line<'_>> = text.split(|&byte| byte == b'\n').filter_map(Line::of).collect();
    let at = lines.iter().position(|line| line.text.starts_with(PANIC))?;
    let cause = lines[..at].iter().rposition(|line| CAUSES.iter().any(|cause| line.text.starts_with(cause)));
    let story = &lines[cause.unwrap_or(at)..];
    let cpu_line = story.iter().find_map(|line| CpuLine::of(line.text)).unwrap_or_default();
    Some(Panic {
        line: cut(lines[at].text, LINE_LIMIT_BYTES),
        cause: cause.map(|cause| cut(lines[cause].text, CAUSE_LIMIT_BYTES)),
        cpu: cpu_line.cpu.or_else(|| story.iter().find_map(|line| machine_check_cpu(line.text))),
        task: cpu_line.task,
        module: story.iter().find_map(|line| module(line.text)),
        kernel: cpu_line.kernel,
        since_boot_secs: lines[at].secs,
    })
}

/// The last few lines that are the kernel's own, for people: what it logged before it fell silent.
#[must_use]
pub fn last_lines(text: &[u8], count: usize) -> Vec<String> {
    let own = text.split(|&byte| byte == b'\n').filter_map(Line::of).filter(|line| !line.text.is_empty());
    let mut lines: Vec<String> = own.map(|line| cut(line.text.trim_start(), LINE_LIMIT_BYTES)).collect();
    lines.split_off(lines.len().saturating_sub(count))
}

/// One line without its marks: `<4>[   12.345678][  T123] text`.
struct Line<'a> {
    secs: Option<u64>,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// `None` for what user space wrote into the log, which its priority shows (`printk_prefix`), and for what is no
    /// text.
    fn of(raw: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(raw.trim_ascii_end()).ok()?;
        let (priority, line) = mark(line, '<', '>').unwrap_or(("0", line));
        // Facility 0 is the kernel's: priorities 0 to 7.
        if priority.parse::<u32>().is_ok_and(|priority| priority > 7) {
            return None;
        }
        let Some((time, rest)) = mark(line, '[', ']').filter(|(time, _)| is_time(time)) else {
            return Some(Self { secs: None, text: line });
        };
        let secs = time.trim().split('.').next().and_then(|secs| secs.parse().ok());
        // CONFIG_PRINTK_CALLER: `T` a task, `C` a CPU.
        let is_caller = |word: &str| {
            let word = word.trim();
            word.strip_prefix(['T', 'C']).is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
        };
        let rest = mark(rest, '[', ']').filter(|(word, _)| is_caller(word)).map_or(rest, |(_, rest)| rest);
        Some(Self { secs, text: rest.strip_prefix(' ').unwrap_or(rest) })
    }
}

fn mark(line: &str, open: char, close: char) -> Option<(&str, &str)> {
    line.strip_prefix(open)?.split_once(close)
}

fn is_time(word: &str) -> bool {
    let word = word.trim();
    word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// `CPU: 0 PID: 95 Comm: sh Tainted: G           OE      6.1.0-56-amd64 #1  Debian` (`dump_stack_print_info`).
#[derive(Default)]
struct CpuLine {
    cpu: Option<u32>,
    task: Option<String>,
    kernel: Option<String>,
}

impl CpuLine {
    fn of(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("CPU: ")?;
        let cpu = rest.split(' ').next()?.parse().ok()?;
        let comm = rest.split_once(" Comm: ").map(|(_, rest)| rest);
        // A task's name may have spaces; what follows it may not be missing.
        let ends = [" Tainted: ", " Not tainted ", " Kdump: "];
        let end = |comm: &&str| ends.iter().filter_map(|end| comm.find(end)).min();
        let task = comm.and_then(|comm| Some(cut(&comm[..end(&comm)?], 16)));
        let kernel = rest.split_once(" #").and_then(|(before, _)| before.rsplit(' ').next()).map(|word| cut(word, 64));
        Some(Self { cpu: Some(cpu), task, kernel })
    }
}

/// `mce: [Hardware Error]: CPU 3: Machine Check Exception: …`.
fn machine_check_cpu(line: &str) -> Option<u32> {
    line.strip_prefix("mce: [Hardware Error]: CPU ")?.split(':').next()?.parse().ok()
}

/// ` wr.cold+0xc/0xaa2 [labfault]`: a frame that the unwinder vouches for, of a module.
fn module(line: &str) -> Option<String> {
    if line.trim_start().starts_with("? ") {
        return None;
    }
    let (_, after) = line.split_once("+0x")?;
    let (offset, rest) = after.split_once(" [")?;
    let is_offset =
        offset.contains("/0x") && offset.bytes().all(|byte| byte.is_ascii_hexdigit() || b"/x".contains(&byte));
    // Its build id may follow the name.
    let name = rest.split_once(']').map(|(name, _)| name.split(' ').next().unwrap_or(name))?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (is_offset && is_name).then(|| cut(name, 64))
}

fn cut(text: &str, limit_bytes: usize) -> String {
    nodewell_model::text::cut(text, limit_bytes).to_owned()
}

impl fmt::Display for Panic {
    /// The line as the kernel logged it, so that a search finds it; then where, then why.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let where_: Vec<String> = [
            self.cpu.map(|cpu| format!("CPU {cpu}")),
            self.task.as_ref().map(|task| format!("task {task}")),
            self.module.as_ref().map(|module| format!("module {module}")),
            self.kernel.as_ref().map(|kernel| format!("kernel {kernel}")),
            self.since_boot_secs.map(|secs| format!("{secs} s after boot")),
        ]
        .into_iter()
        .flatten()
        .collect();
        f.write_str(&self.line)?;
        if !where_.is_empty() {
            write!(f, " ({})", where_.join(", "))?;
        }
        self.cause.iter().try_for_each(|cause| write!(f, "; before it: {cause}"))
    }
}

#[cfg(test)]
mod tests;
