//! Judges what the BMC's event log has that is new: what lasts is a problem of a condition, what happened is an Event.

use std::collections::BTreeMap;

use glob::Pattern;
use nodewell_message::MessageArgs;
use nodewell_model::{Hardware, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BmcSettings,
    alarm::Alarms,
    event::{SensorEvent, SensorState, shown_time},
    meaning::{COOLING, DISK, Meaning, POWER},
    names::{NamedModule, SensorNames},
    reading::{BMC, BmcReading, LogRecord, Question},
    repository::{NamesReading, RepositoryCursor},
    walk::LogCursor,
};
use crate::probe::{
    Answer, DeviceEvent, Fault, Findings, Judge, Now, PollError, RawReading, ReadError, Round, State, Verdict,
    last_saved::LastSaved, unknown,
};

/// A log is nearly full from here on, and has room again below the second.
const NEARLY_FULL_PERCENT: u32 = 90;
const ROOM_PERCENT: u32 = 80;
/// In one of so many looks it is asked whether sensors have other names: some hour.
const LOOKS_FOR_NAMES: u64 = 60;
/// So many looks in a row ask a BMC for names that does not give them.
const NAMES_PATIENCE: u8 = 3;

/// Judges in the check process.
#[derive(Debug, Default)]
pub struct BmcJudge {
    ignored: Vec<Pattern>,
    history: History,
    bmc: Bmc,
    /// How many looks there were.
    looks: u64,
    /// Why names could not be read, in the last of these looks.
    nameless: Nameless,
    last_saved: LastSaved,
}

/// A BMC that does not give the names of its sensors.
#[derive(Debug, Default)]
struct Nameless {
    looks: u8,
    why: Option<String>,
}

/// How the last look went.
#[derive(Debug, Default)]
enum Bmc {
    /// There is none, or it has no log.
    #[default]
    Absent,
    Answers {
        entries: u16,
    },
    Unknown(State),
}

/// The saved state.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct History {
    log: Option<LogCursor>,
    alarms: Alarms,
    fill: Fill,
    repository: RepositoryCursor,
    names: SensorNames,
    /// Entries that were read and not judged: the vendor's own, and kinds without a meaning here.
    unjudged: u64,
}

/// How full the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fill {
    #[default]
    Room,
    NearlyFull,
    Overflowed,
}

impl BmcJudge {
    #[must_use]
    pub fn new(settings: &BmcSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
        Self { ignored, ..Self::default() }
    }

    fn take(&mut self, answer: Answer, now: &Now) -> Vec<DeviceEvent> {
        match answer.and_then(|reading| reading.parse()) {
            Ok(reading) => return self.read(reading, now),
            // Its driver was unloaded: what is open stays open until it answers again.
            Err(PollError::Read(ReadError::Gone { .. })) => self.bmc = Bmc::Absent,
            Err(error) => self.bmc = Bmc::Unknown(unknown(&error)),
        }
        Vec::new()
    }

    fn read(&mut self, mut reading: BmcReading, now: &Now) -> Vec<DeviceEvent> {
        self.looks = self.looks.wrapping_add(1);
        self.take_names(reading.names.take());
        if reading.is_cleared {
            self.history.alarms.clear();
        }
        let modules = std::mem::take(&mut reading.modules);
        let mut events: Vec<_> =
            reading.records.iter().filter_map(|record| self.record(record, &modules, now)).collect();
        self.end_removed(&reading.records);
        for sensor in &reading.sensors {
            self.history.alarms.show(sensor);
        }
        if reading.is_whole {
            self.history.alarms.settle(now.boottime);
        }
        events.extend(self.fill(&reading, now));
        self.bmc = Bmc::Answers { entries: reading.entries };
        self.history.log = Some(reading.log);
        events
    }

    fn take_names(&mut self, read: Option<Result<NamesReading, String>>) {
        match read {
            None => {}
            Some(Ok(NamesReading { cursor, names })) => {
                let is_another = cursor.is_another(&self.history.repository);
                if is_another {
                    // A number may be another sensor's now.
                    self.history.names = SensorNames::default();
                }
                self.history.names.take(names);
                self.history.repository = cursor;
                // One that changes at each look would be walked from its start for ever.
                let looks = if is_another { self.nameless.looks.saturating_add(1) } else { 0 };
                self.nameless = Nameless { looks, why: None };
            }
            Some(Err(why)) => {
                let looks = self.nameless.looks.saturating_add(1);
                self.nameless = Nameless { looks, why: Some(why) };
            }
        }
    }

    /// Until they are all read; then it is asked now and then whether they were changed.
    fn asks_names(&self) -> bool {
        let goes_on = self.history.repository.is_unfinished() && self.nameless.looks < NAMES_PATIENCE;
        goes_on || self.looks.is_multiple_of(LOOKS_FOR_NAMES)
    }

    /// What a sensor is called; what it watches, if that is not known.
    fn sensor(&self, state: &SensorState) -> &str {
        self.history.names.of(state).unwrap_or(state.kind())
    }

    /// An entry that was not read before.
    fn record(
        &mut self,
        LogRecord { record, is_news }: &LogRecord,
        modules: &[NamedModule],
        now: &Now,
    ) -> Option<DeviceEvent> {
        let event = SensorEvent::of(record);
        if let Some(event) = event.filter(|event| event.presence() == Some(false)) {
            self.history.alarms.remove(&event.state);
        }
        let Some((event, meaning)) = event.and_then(|event| Some((event, Meaning::of(&event.state)?))) else {
            self.history.unjudged += 1;
            return None;
        };
        let subject = event.state.subject();
        if self.is_ignored(&subject) {
            return None;
        }
        let (reason, text) = match meaning {
            Meaning::Fault { text, .. } => {
                let was_brief = self.history.alarms.note(&event, *is_news, now.boottime);
                was_brief.then_some(("BmcAlarmBrief", text))?
            }
            Meaning::Happens { reason, text } => event.is_assertion.then_some((reason, text))?,
            Meaning::Ends { reason, text } => (!event.is_assertion).then_some((reason, text))?,
        };
        if !is_news {
            return None;
        }
        let text = event.timer_use().map_or_else(|| text.to_owned(), |by| format!("{text}, set by {by}"));
        let (sensor, time) = (self.sensor(&event.state), shown_time(event.time));
        let module = of_module(reason).and_then(|key| Some((key, NamedModule::called(modules, sensor)?)));
        Some(match module {
            Some((key, module)) => {
                let fields: MessageArgs<'_> =
                    &[("sensor", &sensor), ("state", &text), ("time", &time), ("module", module)];
                DeviceEvent::of(key, &subject, fields, now.wall)
            }
            None => {
                let fields: MessageArgs<'_> = &[("sensor", &sensor), ("state", &text), ("time", &time)];
                DeviceEvent::of(reason, &subject, fields, now.wall)
            }
        })
    }

    /// What is not there has no fault, also where its BMC noted that it lost its input after it was taken out.
    fn end_removed(&mut self, records: &[LogRecord]) {
        let events = records.iter().filter_map(|record| SensorEvent::of(&record.record));
        let presence: BTreeMap<_, _> = events.filter_map(|event| Some((event.state, event.presence()?))).collect();
        for (sensor, _) in presence.iter().filter(|(_, is_there)| !**is_there) {
            self.history.alarms.remove(sensor);
        }
    }

    /// An Event when the log gets worse, once.
    fn fill(&mut self, reading: &BmcReading, now: &Now) -> Option<DeviceEvent> {
        let entries = reading.entries;
        let percent = percent_full(reading).unwrap_or_default();
        let next = match self.history.fill {
            _ if reading.is_overflow => Fill::Overflowed,
            fill if percent >= NEARLY_FULL_PERCENT => fill.max(Fill::NearlyFull),
            _ if percent < ROOM_PERCENT => Fill::Room,
            fill => fill,
        };
        let is_worse = next > std::mem::replace(&mut self.history.fill, next);
        let event = |key, args: MessageArgs<'_>| DeviceEvent::of(key, BMC, args, now.wall);
        match next {
            Fill::NearlyFull if is_worse => {
                Some(event("BmcLogFull", &[("percent", &percent), ("limit", &NEARLY_FULL_PERCENT)]))
            }
            Fill::Overflowed if is_worse => Some(event("BmcLogFull/overflow", &[("entries", &entries)])),
            _ => None,
        }
    }

    fn is_ignored(&self, subject: &str) -> bool {
        self.ignored.iter().any(|pattern| pattern.matches(subject))
    }

    /// The BMC itself, and each sensor that reported a fault once.
    fn verdicts(&self) -> Vec<Verdict> {
        let whole = match &self.bmc {
            Bmc::Absent => return Vec::new(),
            Bmc::Unknown(state) => state.clone(),
            Bmc::Answers { entries } => self.answers(*entries),
        };
        let mut sensors: BTreeMap<(&'static str, String), BTreeMap<&'static str, Fault>> = BTreeMap::new();
        for (alarm, fault) in self.history.alarms.reported() {
            let subject = alarm.state.subject();
            if self.is_ignored(&subject) {
                continue;
            }
            let faults = sensors.entry((fault.condition, subject)).or_default();
            if alarm.holds() {
                let (sensor, text) = (self.sensor(&alarm.state), alarm.shown(fault.text));
                let fields: MessageArgs<'_> =
                    &[("sensor", &sensor), ("state", &text), ("time", &shown_time(alarm.time))];
                // One for each reason.
                faults.insert(fault.reason, Fault::of(fault.reason, fields));
            }
        }
        let sensors = sensors.into_iter().map(|((condition, subject), faults)| {
            let faults: Vec<Fault> = faults.into_values().collect();
            Verdict { condition: Name::fixed(condition), subject, state: self.state(condition, faults) }
        });
        let whole = Verdict { condition: Name::fixed(POWER), subject: BMC.to_owned(), state: whole };
        [whole].into_iter().chain(sensors).collect()
    }

    fn answers(&self, entries: u16) -> State {
        let unjudged = &self.history.unjudged;
        match &self.nameless.why {
            Some(why) => {
                let fields: MessageArgs<'_> = &[("entries", &entries), ("unjudged", unjudged), ("why", why)];
                State::healthy("PowerUnhealthy/healthy-nameless", fields)
            }
            None => State::healthy("PowerUnhealthy/healthy", &[("entries", &entries), ("unjudged", unjudged)]),
        }
    }

    /// Of one sensor. While the BMC is silent, what holds is unconfirmed, and what was over may not be so any more.
    fn state(&self, condition: &'static str, faults: Vec<Fault>) -> State {
        match &self.bmc {
            Bmc::Unknown(state) => state.clone(),
            Bmc::Absent | Bmc::Answers { .. } if faults.is_empty() => State::healthy(healthy(condition), &[]),
            Bmc::Absent | Bmc::Answers { .. } => State::Faulty(faults),
        }
    }

    fn hardware(&self) -> Option<Hardware> {
        let word = match &self.bmc {
            Bmc::Absent => return None,
            Bmc::Unknown(_) => Some("not answering"),
            Bmc::Answers { .. } => self.history.alarms.reported().any(|(alarm, _)| alarm.holds()).then_some("alarmed"),
        };
        let states = word.into_iter().map(|word| (word.to_owned(), 1)).collect();
        Some(Hardware { class: "BMCs".to_owned(), total: 1, states, ..Hardware::default() })
    }
}

/// The message of an Event where the memory module that it is about is known by its sensor's name.
fn of_module(reason: &str) -> Option<&'static str> {
    match reason {
        "BmcMemoryUncorrected" => Some("BmcMemoryUncorrected/module"),
        "BmcMemoryCorrectedLimit" => Some("BmcMemoryCorrectedLimit/module"),
        _ => None,
    }
}

/// Of a condition whose sensor is in no state that is a fault.
fn healthy(condition: &'static str) -> &'static str {
    match condition {
        COOLING => "CoolingUnhealthy/healthy-bmc",
        DISK => "DiskUnhealthy/healthy-bmc",
        _ => "PowerUnhealthy/healthy-bmc",
    }
}

/// `None`: the BMC does not report it, or has more room than the field can hold (IPMI 2.0, table 31-2).
fn percent_full(reading: &BmcReading) -> Option<u32> {
    const ENTRY_BYTES: u32 = 16;
    let used = u32::from(reading.entries) * ENTRY_BYTES;
    let total = used + u32::from(reading.free_bytes);
    (reading.free_bytes != u16::MAX && total > 0).then(|| used * 100 / total)
}

impl Judge for BmcJudge {
    fn judge(&mut self, round: Round) -> Findings {
        let now = round.now.clone();
        let events = round.answer_of(BMC).map(|answer| self.take(answer, &now)).unwrap_or_default();
        Findings {
            verdicts: self.verdicts(),
            events,
            hardware: self.hardware().into_iter().collect(),
            ..Findings::default()
        }
    }

    fn cursor(&self) -> Option<RawReading> {
        let History { log, alarms, repository, .. } = &self.history;
        let names = self.asks_names().then(|| repository.clone());
        RawReading::of(&Question { log: log.clone(), sensors: alarms.addresses(), names }).ok()
    }

    fn save(&mut self) -> Option<Value> {
        self.last_saved.if_changed(&self.history)
    }

    fn load(&mut self, saved: Value) {
        let Ok(history) = serde_json::from_value(saved) else { return };
        self.history = history;
    }
}
