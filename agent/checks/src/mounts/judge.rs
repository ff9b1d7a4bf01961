//! Judges filesystems: which are full, which the kernel has cut off, which do not answer.

mod faults;

use std::collections::{BTreeMap, BTreeSet};

use crate::probe::{
    Answer, Findings, Judge, PollError, ReadError, Round, State, Verdict, last_saved::LastSaved, unknown::unknown,
};
use nodewell_model::Name;
use serde_json::Value;

use self::faults::{errors, read_only, server_silent, shut_down, unusable};
use super::{
    fullness::Shortage,
    history::MountsHistory,
    kind::{self, FilesystemKind},
    reading::{MountsReading, Row, StatfsResult, TABLE, Usage},
};
use crate::mounts::MountsSettings;

const HEALTHY_LIMIT: usize = 64;
/// What an agent accepts, unless its configuration allows more (`subjects-per-daemon`).
const SUBJECTS_LIMIT: usize = 256;

/// Judges; pure.
#[derive(Debug)]
pub struct MountsJudge {
    settings: MountsSettings,
    rows: Vec<Row>,
    /// The last answer of each that was asked.
    answers: BTreeMap<String, Result<MountsReading, PollError>>,
    /// Why the table is not known.
    listing: Option<PollError>,
    last: Vec<Verdict>,
    history: MountsHistory,
    last_saved: LastSaved,
}

impl MountsJudge {
    #[must_use]
    pub fn new(settings: MountsSettings) -> Self {
        let (history, last_saved) = (MountsHistory::default(), LastSaved::default());
        Self {
            settings,
            rows: Vec::new(),
            answers: BTreeMap::new(),
            listing: None,
            last: Vec::new(),
            history,
            last_saved,
        }
    }

    fn take(&mut self, round: Round) {
        self.history.enter_boot(&round.now.boot_id);
        self.listing = round.listed.err();
        for (device, answer) in round.answers {
            match device.as_str() {
                TABLE => self.take_table(answer),
                _ => drop(self.answers.insert(device, answer.and_then(|reading| reading.parse()))),
            }
        }
        let asked: BTreeSet<&str> = self.rows.iter().map(|row| row.asked.as_str()).collect();
        self.answers.retain(|device, _| asked.contains(device.as_str()));
        self.measure();
    }

    fn take_table(&mut self, answer: Answer) {
        match answer.and_then(|reading| reading.parse()) {
            Ok(rows) => {
                self.rows = rows;
                self.history.take(&self.rows);
            }
            Err(error) => self.listing = Some(error),
        }
    }

    fn measure(&mut self) {
        for row in self.rows.iter().filter(|row| row.kind == FilesystemKind::Disk) {
            let disk = self.history.of(&row.point);
            if let Some(usage) = usage(&self.answers, row) {
                disk.set_short(Shortage::of(usage, disk.short(), &self.settings));
            }
        }
    }

    /// Without a table the state of everything that was reported is unknown.
    fn verdicts(&self) -> Vec<Verdict> {
        if let Some(error) = &self.listing {
            return self.last.iter().map(|last| Verdict { state: unknown(error), ..last.clone() }).collect();
        }
        let mut verdicts = Vec::new();
        for row in &self.rows {
            match row.kind {
                FilesystemKind::Disk => {
                    verdicts.extend(self.full(row));
                    verdicts.extend(self.unhealthy(row));
                    verdicts.extend(self.answering(row).filter(|verdict| is_faulty(&verdict.state)));
                }
                FilesystemKind::Server | FilesystemKind::Fuse => verdicts.extend(self.answering(row)),
            }
        }
        verdicts.extend(self.silent_servers());
        thinned(verdicts)
    }

    /// A filesystem that takes no writes needs no room.
    fn full(&self, row: &Row) -> Option<Verdict> {
        let state = match self.answers.get(&row.asked)? {
            Ok(reading) => {
                let Some(StatfsResult::Usage(usage)) = reading.get(&row.point) else { return None };
                let faults = self.short(row).faults(usage, &self.settings);
                let healthy = || State::healthy("FilesystemFull/healthy", &[("limit", &self.settings.space.percent)]);
                if faults.is_empty() { healthy() } else { State::Faulty(faults) }
            }
            Err(PollError::Read(ReadError::Gone { .. })) => return None,
            Err(error) => unknown(error),
        };
        (!row.is_read_only).then(|| verdict("FilesystemFull", &row.point, state))
    }

    /// The inodes of XFS come out of the space: where that is used up, they are, too.
    fn short(&self, row: &Row) -> Shortage {
        let short = self.history.get(&row.point).map_or(Shortage::default(), |disk| disk.short());
        let is_one = short.space && matches!(row.filesystem.as_str(), "xfs" | "zfs");
        Shortage { inodes: short.inodes && !is_one, ..short }
    }

    /// What the kernel log reports as well: the same problems, by the same names.
    fn unhealthy(&self, row: &Row) -> Vec<Verdict> {
        let subject = row.name.as_ref().unwrap_or(&row.point);
        let Some(disk) = self.history.get(&row.point) else { return Vec::new() };
        let mut found = Vec::new();
        if disk.is_wrongly_read_only(row) {
            found.push(("ReadonlyFilesystem", read_only(row)));
        }
        found.extend(errors(row).filter(|_| disk.is_erring()).map(|fault| ("DiskUnhealthy", fault)));
        if row.filesystem == "xfs" && failed(&self.answers, row) == Some(nix::libc::EIO) {
            found.push(("XfsShutdown", shut_down(row)));
        }
        found.into_iter().map(|(condition, fault)| verdict(condition, subject, State::Faulty(vec![fault]))).collect()
    }

    /// Whether what is mounted there can be used.
    fn answering(&self, row: &Row) -> Option<Verdict> {
        let is_reported_by_server = row.is_volume && kind::nfs_server_of(&row.asked).is_some();
        let state = match self.answers.get(&row.asked)? {
            Ok(reading) => match reading.get(&row.point) {
                Some(StatfsResult::Failed(code)) => faulty_or_healthy(unusable(row, *code)),
                Some(StatfsResult::Usage(_)) | None => answers(),
            },
            Err(PollError::NoAnswer(no_answer)) if no_answer.was_asked() => {
                let silent = faults::silent(row, &no_answer.message);
                faulty_or_healthy((!is_reported_by_server).then_some(silent))
            }
            Err(PollError::Read(ReadError::Gone { .. })) => return None,
            Err(error) => unknown(error),
        };
        // Of volumes only what is wrong is reported: there are many, and pods come and go.
        (!row.is_volume || is_faulty(&state)).then(|| verdict(condition(row), &row.point, state))
    }

    /// The kernel log reports the server, once for all that is mounted from it.
    fn silent_servers(&self) -> impl Iterator<Item = Verdict> + '_ {
        self.answers.iter().filter_map(|(asked, answer)| {
            let server = kind::nfs_server_of(asked)?;
            let Err(PollError::NoAnswer(no_answer)) = answer else { return None };
            let points = self.rows.iter().filter(|row| row.asked == *asked).count();
            let fault = no_answer.was_asked().then(|| server_silent(points, &no_answer.message))?;
            Some(verdict("VolumeUnhealthy", server, State::Faulty(vec![fault])))
        })
    }
}

impl Judge for MountsJudge {
    fn judge(&mut self, round: Round) -> Findings {
        if matches!(&round.listed, Err(PollError::Read(ReadError::Gone { .. }))) {
            return Findings::default();
        }
        self.take(round);
        self.last = self.verdicts();
        Findings { verdicts: self.last.clone(), ..Findings::default() }
    }

    fn save(&mut self) -> Option<Value> {
        self.last_saved.if_changed(&self.history)
    }

    fn load(&mut self, saved: Value) {
        let Ok(history) = serde_json::from_value(saved.clone()) else { return };
        (self.history, self.last_saved) = (history, LastSaved::of(saved));
    }
}

/// What is wrong comes first, and of what is healthy only so much is reported as shows that the check runs.
fn thinned(verdicts: Vec<Verdict>) -> Vec<Verdict> {
    let mut healthy = 0;
    let is_reported = |verdict: &Verdict| {
        healthy += usize::from(matches!(verdict.state, State::Healthy { .. }));
        !matches!(verdict.state, State::Healthy { .. }) || healthy <= HEALTHY_LIMIT
    };
    let mut reported: Vec<Verdict> = verdicts.into_iter().filter(is_reported).collect();
    reported.sort_by_key(|verdict| matches!(verdict.state, State::Healthy { .. }));
    reported.truncate(SUBJECTS_LIMIT);
    reported
}

fn condition(row: &Row) -> &'static str {
    if row.is_volume { "VolumeUnhealthy" } else { "MountHung" }
}

fn usage<'a>(answers: &'a BTreeMap<String, Result<MountsReading, PollError>>, row: &Row) -> Option<&'a Usage> {
    match answers.get(&row.asked)?.as_ref().ok()?.get(&row.point)? {
        StatfsResult::Usage(usage) => Some(usage),
        StatfsResult::Failed(_) => None,
    }
}

fn failed(answers: &BTreeMap<String, Result<MountsReading, PollError>>, row: &Row) -> Option<i32> {
    match answers.get(&row.asked)?.as_ref().ok()?.get(&row.point)? {
        StatfsResult::Usage(_) => None,
        StatfsResult::Failed(code) => Some(*code),
    }
}

fn verdict(condition: &'static str, subject: &str, state: State) -> Verdict {
    Verdict { condition: Name::fixed(condition), subject: subject.to_owned(), state }
}

fn answers() -> State {
    State::healthy("MountHung/healthy", &[])
}

fn faulty_or_healthy(fault: Option<crate::probe::Fault>) -> State {
    fault.map_or_else(answers, |fault| State::Faulty(vec![fault]))
}

fn is_faulty(state: &State) -> bool {
    matches!(state, State::Faulty(_))
}

#[cfg(test)]
mod tests;
