//! What a judge returns: the state of each device, and what happened.

use std::collections::BTreeMap;

use jiff::Timestamp;
use nodewell_faults::{message, message::reason_of, reason};
use nodewell_message::MessageArgs;
use nodewell_model::{Action, Hardware, Name, Severity, SubjectKey};

use crate::probe::UnknownReason;

/// All that one check found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// Every device that is known; one that is not named any more is forgotten.
    pub verdicts: Vec<Verdict>,
    /// What happened since the last findings.
    pub events: Vec<DeviceEvent>,
    /// Evidence that problems are over that other sources claim, such as rules of the kernel log.
    pub recoveries: Vec<RecoveryEvidence>,
    /// One for each class of devices.
    pub hardware: Vec<Hardware>,
}

impl Findings {
    /// Devices of one class, each of them judged for one condition; `faulty` is the word for what has a fault. Without
    /// any device the machine has none of that class.
    pub(crate) fn of_class(
        condition: &'static str,
        class: &str,
        faulty: &str,
        devices: &BTreeMap<String, State>,
    ) -> Self {
        let verdict = |(subject, state): (&String, &State)| Verdict {
            condition: Name::fixed(condition),
            subject: subject.clone(),
            state: state.clone(),
        };
        let mut states: BTreeMap<String, u32> = BTreeMap::new();
        for state in devices.values() {
            let word = match state {
                State::Healthy { .. } => continue,
                State::Faulty(_) => faulty,
                State::Unknown { .. } => "not answering",
            };
            *states.entry(word.to_owned()).or_default() += 1;
        }
        let total = u32::try_from(devices.len()).unwrap_or(u32::MAX);
        let hardware = Hardware { class: class.to_owned(), total, states, ..Hardware::default() };
        Self {
            verdicts: devices.iter().map(verdict).collect(),
            hardware: (total > 0).then_some(hardware).into_iter().collect(),
            ..Self::default()
        }
    }
}

/// How one device is, in the eyes of one condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub condition: Name,
    /// Empty where the condition is the node's as a whole.
    pub subject: String,
    pub state: State,
}

impl Verdict {
    #[must_use]
    pub fn new(key: SubjectKey, state: State) -> Self {
        Self { condition: key.condition, subject: key.subject.unwrap_or_default(), state }
    }
}

/// How a device is.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// The message is for people: `17 % worn, 31 °C`.
    Healthy { message: String },
    /// Each of its faults, in any order; at least one.
    Faulty(Vec<Fault>),
    /// The state is unknown, and why.
    Unknown { reason: UnknownReason, message: String },
}

/// One fault of one device; a reason of the catalogue ([`nodewell_faults::reason`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub reason: Name,
    pub severity: Severity,
    pub action: Option<Action>,
    /// With the figures: `spare 3 %, the device's threshold is 10 %`.
    pub message: String,
    /// When it became so, if that is known better than from the first verdict.
    pub since: Option<Timestamp>,
}

/// Something that happened to a device, a service or the node; it leaves no state.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceEvent {
    pub reason: Name,
    pub severity: Severity,
    pub subject: Option<String>,
    pub message: String,
    pub time: Timestamp,
    /// The kernel logs it too, and that line makes an Event of its own.
    pub is_in_kernel_log: bool,
}

/// The evidence that problems of a subject are over, whatever source claims them: those whose rule has `check =
/// "device-recovered"` and that no source has claimed since.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryEvidence {
    pub condition: Name,
    /// `None`: every reason.
    pub reason: Option<Name>,
    pub subject: String,
    /// Problems last seen after this stay.
    pub seen_before: Timestamp,
    pub evidence: String,
}

impl State {
    /// Healthy, with the message of `key` (`CONDITION/healthy`) in the catalogue and its arguments.
    #[must_use]
    pub fn healthy(key: &'static str, args: MessageArgs<'_>) -> Self {
        Self::Healthy { message: message(key, args) }
    }
}

impl Fault {
    /// A fault with severity, action and words as the catalogues have them. `key` is the reason, or `REASON/variant`
    /// where a reason has several messages.
    ///
    /// # Panics
    /// In debug builds, if a catalogue does not know `key`, or has other arguments: a bug that tests find.
    #[must_use]
    pub fn of(key: &'static str, args: MessageArgs<'_>) -> Self {
        let (name, message) = (reason_of(key), message(key, args));
        let known = reason::named(name);
        debug_assert!(known.is_some(), "{name} is not in the catalogue");
        let severity = known.map_or(Severity::Error, |known| known.severity);
        Self { reason: Name::fixed(name), severity, action: known.map(|known| known.action), message, since: None }
    }

    /// The same for a reason of rules of the kernel log, which reports the same fault: severity and action are the
    /// rule's.
    #[must_use]
    pub fn of_rule(key: &'static str, severity: Severity, action: Action, args: MessageArgs<'_>) -> Self {
        let message = message(key, args);
        Self { reason: Name::fixed(reason_of(key)), severity, action: Some(action), message, since: None }
    }
}

impl DeviceEvent {
    /// Something that happened at `time`, with its severity and words as the catalogues have them; `key` as of
    /// [`Fault::of`].
    #[must_use]
    pub fn of(key: &'static str, subject: &str, args: MessageArgs<'_>, time: Timestamp) -> Self {
        let name = reason_of(key);
        let known = reason::named(name);
        debug_assert!(known.is_some(), "{name} is not in the catalogue");
        Self {
            reason: Name::fixed(name),
            severity: known.map_or(Severity::Info, |known| known.severity),
            subject: Some(subject.to_owned()),
            message: message(key, args),
            time,
            is_in_kernel_log: false,
        }
    }
}
