//! What the kernel counts time by: `/sys/devices/system/clocksource/clocksource0`.

use crate::probe::{Roots, attribute};
use serde::{Deserialize, Serialize};

/// A read of one of these costs a microsecond and more, and all CPUs wait for one another: programs that ask for the time
/// often stand still.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// The flags stand in the first thousand bytes of the first CPU; the rest may be a megabyte.
const CPU_BYTES: usize = 4096;

/// As the kernel shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Source {
    pub(super) current: String,
    /// One that the kernel does not trust any more is not among them.
    pub(super) available: Vec<String>,
    /// The CPU's flags show a counter that is good for a clock, no hypervisor takes part in it, and the command line
    /// does not rule it out.
    pub(super) expects_tsc: bool,
}

impl Source {
    /// `None` where the kernel does not report it.
    pub(super) fn read(roots: &Roots) -> Option<Self> {
        let folder = roots.sys.join("devices/system/clocksource/clocksource0");
        let text = |name: &str| attribute::text(&folder.join(name)).ok().flatten();
        let current = text("current_clocksource")?;
        let available = text("available_clocksource")?.split_ascii_whitespace().map(str::to_owned).collect();
        let expects_tsc = is_slow(&current) && expects_tsc(roots);
        Some(Self { current, available, expects_tsc })
    }

    pub(super) fn is_slow(&self) -> bool {
        is_slow(&self.current)
    }

    /// What it counted by before, or should count by, and cannot any more. What is still available was left on purpose.
    pub(super) fn lost<'a>(&self, before: Option<&'a str>) -> Option<&'a str> {
        let wanted = before.or(self.expects_tsc.then_some("tsc"))?;
        (self.is_slow() && !self.available.iter().any(|one| one == wanted)).then_some(wanted)
    }
}

fn is_slow(name: &str) -> bool {
    SLOW.contains(&name)
}

fn expects_tsc(roots: &Roots) -> bool {
    let text = |name: &str| attribute::text(&roots.proc.join(name)).ok().flatten().unwrap_or_default();
    let cpus = text("cpuinfo");
    let first = cpus.get(..CPU_BYTES).unwrap_or(&cpus);
    let flags = first.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_ascii_whitespace().any(|one| one == flag);
    let is_ruled_out = |word: &str| word == "notsc" || word.starts_with("tsc=") || word.starts_with("clocksource=");
    has("constant_tsc")
        && has("nonstop_tsc")
        && !has("hypervisor")
        && !text("cmdline").split_ascii_whitespace().any(is_ruled_out)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn source(current: &str, available: &str, flags: &str, cmdline: &str) -> Source {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/devices/system/clocksource/clocksource0");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(folder.join("current_clocksource"), format!("{current}\n")).unwrap();
        fs::write(folder.join("available_clocksource"), format!("{available} \n")).unwrap();
        fs::write(root.path().join("proc/cpuinfo"), format!("processor\t: 0\nflags\t\t: fpu {flags}\n")).unwrap();
        fs::write(root.path().join("proc/cmdline"), cmdline).unwrap();
        let at = |name| root.path().join(name);
        Source::read(&Roots { proc: at("proc"), sys: at("sys"), ..Roots::default() }).unwrap()
    }

    const GOOD: &str = "constant_tsc nonstop_tsc";

    #[test]
    fn a_source_is_lost_only_if_the_kernel_gave_it_up() {
        for (current, available, before, lost, case) in [
            ("tsc", "tsc hpet", None, None, "healthy"),
            ("hpet", "hpet acpi_pm", Some("tsc"), Some("tsc"), "given up in this boot"),
            ("hpet", "tsc hpet acpi_pm", Some("tsc"), None, "chosen by hand"),
            ("acpi_pm", "acpi_pm", Some("kvm-clock"), Some("kvm-clock"), "a guest's own clock is gone"),
            ("kvm-clock", "kvm-clock", Some("tsc"), None, "one good source for another"),
        ] {
            assert_eq!(source(current, available, "", "").lost(before), lost, "{case}");
        }
    }

    #[test]
    fn a_counter_given_up_before_the_first_look_is_missed_where_it_should_be_good() {
        for (flags, cmdline, lost) in [
            (GOOD, "quiet", true),
            ("constant_tsc", "quiet", false),
            ("constant_tsc nonstop_tsc hypervisor", "quiet", false),
            (GOOD, "quiet tsc=unstable", false),
            (GOOD, "clocksource=hpet", false),
        ] {
            assert_eq!(source("hpet", "hpet", flags, cmdline).lost(None).is_some(), lost, "{flags} {cmdline}");
        }
    }
}
