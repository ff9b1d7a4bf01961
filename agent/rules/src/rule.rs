//! A validated rule set: what both formats (native TOML and Node Problem Detector's JSON) become.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use nodewell_faults::{Decoder, Tables};
use nodewell_model::{Action, ConditionSpec, Name, Severity};

use crate::{Location, npd::stats::SystemStats, plugin::PluginMonitor};
pub use crate::{
    reader::{FileReader, Reader},
    timestamp::{Stamped, TimestampFormat},
};

/// Everything that was loaded and found good.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    /// The catalogue: condition types that may be published.
    pub conditions: Vec<ConditionSpec>,
    /// What it means that such a condition is True, for people; of those that their files explain.
    pub meanings: BTreeMap<Name, String>,
    /// Where records come from; a rule names one by its index.
    pub readers: Vec<Reader>,
    pub rules: Vec<Rule>,
    /// Programs that are run, and checks that stand for one.
    pub plugins: Vec<PluginMonitor>,
    /// What Node Problem Detector's system-stats monitors export; no two metrics have one name.
    pub statistics: Vec<SystemStats>,
    /// What decoders go by, with an operator's overrides; `None`: the shipped tables, which are not read before the
    /// first line that needs them.
    pub tables: Option<Arc<Tables>>,
    /// `sha256:…` over the names and bytes of all files that were read for it, in their order. Where they lie does not
    /// count: the built-in copy of the rules is what the packages install.
    pub hash: String,
}

impl RuleSet {
    /// Forgets what people read and what the examples prove, which is most of it. Of a rule of the kernel log an
    /// example of one line stays where there is one: it is what a test problem is made of.
    pub fn forget_prose(&mut self) {
        self.meanings.clear();
        self.rules.shrink_to_fit();
        for rule in &mut self.rules {
            (rule.explain, rule.origin) = (String::new(), String::new());
            let mut matches = std::mem::take(&mut rule.examples).matches;
            if self.readers.get(rule.reader) != Some(&Reader::Kmsg) {
                continue;
            }
            let is_single = |example: &Example| rule.counting.is_some() || !example.text.trim_end().contains('\n');
            let single = matches.iter().position(is_single);
            rule.examples.matches = single.map(|index| matches.swap_remove(index)).into_iter().collect();
        }
    }

    /// What decoders go by.
    #[must_use]
    pub fn tables(&self) -> Arc<Tables> {
        self.tables.clone().unwrap_or_else(Tables::shipped)
    }

    /// The look at the host that ends problems of `reason`, whichever rule finds them.
    #[must_use]
    pub fn check_of(&self, reason: &Name) -> Option<RecoveryCheck> {
        let mut lasting = self.rules.iter().filter(|rule| rule.reason == *reason && rule.condition.is_some());
        lasting.find_map(|rule| rule.clears.check).or_else(|| self.check_of_decoded(reason))
    }

    fn check_of_decoded(&self, reason: &Name) -> Option<RecoveryCheck> {
        let mut decoding = self.rules.iter().filter(|rule| rule.decoder.is_some_and(|decoder| decoder.gives(reason)));
        decoding.find_map(|rule| rule.clears.check)
    }
}

/// Which format the rule was written in; Node Problem Detector's has its own matching semantics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Native,
    /// The pattern must match up to the end of the newest line; `\w \d \s \b` are ASCII.
    Npd,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    pub location: Location,
    /// The override that changed it.
    pub overridden: Option<Location>,
    pub format: Format,
    /// Whose claim a finding of this rule is, such as `kernel-monitor`. Loading makes sure that all rules of a monitor
    /// listen to one reader.
    pub monitor: Arc<str>,
    /// Index into [`RuleSet::readers`].
    pub reader: usize,
    pub reason: Name,
    /// `None`: temporary, an Event only.
    pub condition: Option<Name>,
    pub severity: Severity,
    /// Reads the line and gives reason, condition, severity, action and subject; `reason` is then only the rule's own
    /// name, and `condition` is `None`.
    pub decoder: Option<Decoder>,
    /// Whether the condition is shown as False while nothing is wrong. A rule for hardware that most nodes do not have
    /// does not: its condition is there with its first problem.
    pub shows_healthy_condition: bool,
    /// Alternatives, for the wordings of different kernels. Any of them matching is one match.
    pub patterns: Vec<String>,
    /// How many of the newest lines the patterns may look at; 1 for nearly all rules.
    pub lines: usize,
    /// What the record's fields must be, beside the text.
    pub fields: FieldFilter,
    pub proof: Proof,
    pub counting: Option<Counting>,
    pub inhibition: Option<Inhibition>,
    pub clears: Clears,
    pub action: Option<Action>,
    /// NPD's `patternGeneratedMessageSuffix`; appended after `"; "`.
    pub message_suffix: Option<String>,
    /// NPD's `lookback`: the rule passes over records that are older than this when the agent starts. `None`: zero for
    /// NPD's rules; native rules go by the agent's default.
    pub lookback: Option<Duration>,
    /// NPD's `delay`: records of the first so long after boot are passed over.
    pub boot_delay: Option<Duration>,
    /// Which kernels or programs print it, for people.
    pub origin: String,
    /// What it means and what to do, for `nodewell explain`.
    pub explain: String,
    pub examples: Examples,
}

/// Conditions on a record's fields (journal fields, kmsg's `SUBSYSTEM` and `DEVICE`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldFilter {
    /// Each field must have one of the values.
    pub require: Vec<(String, Vec<String>)>,
    /// None of these fields may be present.
    pub without: Vec<String>,
}

/// What the host has to confirm, because text proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proof {
    #[default]
    None,
    /// The capture `pid` must be a process of the node's own plumbing, by its cgroup.
    NodePlumbing,
    /// The subject is a block device; a filesystem that only a pod's volume uses is not the node's.
    Filesystem,
    /// The capture `pod` is the uid in the name of a pod's cgroup: that pod becomes the subject.
    Pod,
}

/// Only `count` matches of one subject within `window` (record time) are a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counting {
    pub count: u32,
    pub window: Duration,
    /// A match of one of these takes one match back.
    pub revert: Vec<String>,
}

/// While the log shows that what the rule finds is meant to happen, it is no finding: what is being stopped may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inhibition {
    /// The lines that begin it, each for its subject.
    pub patterns: Vec<String>,
    /// The lines that end it.
    pub until: Vec<String>,
    /// The field of these lines that names their subject; a line without it shows nothing.
    pub field: String,
    /// Subjects that stand for every one.
    pub all: Vec<String>,
    /// It ends by itself after so long (record time), and with the boot.
    pub window: Duration,
}

/// How a permanent rule's problem ends. Nothing ends because the agent restarted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clears {
    /// Recovery patterns; their `subject` capture must be the problem's subject. Without one all subjects end.
    pub patterns: Vec<String>,
    /// Ends when nothing has repeated it for so long.
    pub quiet: Option<Duration>,
    /// Ends with a new boot.
    pub boot: bool,
    /// Ends when this check of the host reports it.
    pub check: Option<RecoveryCheck>,
}

/// Checks that look at the host itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecoveryCheck {
    /// The filesystem of the subject device is gone, or was mounted again and takes writes.
    FilesystemWritable,
    /// The block device of the subject is gone or answers again.
    DevicePresent,
    /// The monitor of such devices has evidence: a reset, a replacement, the device's own report.
    DeviceRecovered,
}

impl RecoveryCheck {
    pub(crate) const ALL: [Self; 3] = [Self::FilesystemWritable, Self::DevicePresent, Self::DeviceRecovered];

    /// The value in rule files and on the socket.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FilesystemWritable => "filesystem-writable",
            Self::DevicePresent => "device-present",
            Self::DeviceRecovered => "device-recovered",
        }
    }

    /// The check of that name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.as_str() == word)
    }
}

/// Lines that prove the rule; `nodewell check` and the tests run them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examples {
    /// Each must match; a string may hold several lines, the last of which fires.
    pub matches: Vec<Example>,
    /// None may match.
    pub ignores: Vec<Example>,
    /// Each must clear what the first of `matches` raised.
    pub recovers: Vec<Example>,
}

/// One example and what must come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub text: String,
    /// The subject that must be found, where the example gives one.
    pub subject: Option<String>,
    /// The reason that must be found, where the example gives one: for rules whose decoder chooses it.
    pub reason: Option<String>,
    /// Fields of the record, for rules that ask for them.
    pub fields: Vec<(String, String)>,
    pub line: usize,
}
