//! A made-up machine whose disks do what a test gives them to do: from counters, look by look, to verdicts.

mod loads;
mod memory;
mod properties;
mod reader;

use std::time::Duration;

use jiff::Timestamp;

use super::{
    SlowDisksJudge, SlowDisksSettings,
    load::SAMPLES,
    reading::{ALL, Counters, Device, Model, SlowDisksReading, Transfers},
};
use crate::probe::{Findings, Judge, Now, PollError, RawReading, Round, State};

const INTERVAL: Duration = Duration::from_secs(60);

/// Five of six windows decide, not twelve of sixteen as usual.
fn settings() -> SlowDisksSettings {
    SlowDisksSettings { windows: 6, ..SlowDisksSettings::default() }
}

/// What a disk does within an interval.
#[derive(Debug, Clone, Copy)]
struct Work {
    is_read: bool,
    operations: u64,
    sectors_each: u64,
    /// What a request takes, and how many are under way at a time.
    millis_each: u64,
    queue: u64,
    flushes: u64,
    discards: u64,
}

/// Writes of 4 KiB, one after the other.
const USUAL: Work =
    Work { is_read: false, operations: 600, sectors_each: 8, millis_each: 8, queue: 1, flushes: 0, discards: 0 };
/// As many as a disk can do that takes 320 ms for each.
const DELAYED: Work = Work { operations: 180, millis_each: 320, ..USUAL };
const IDLE: Work = Work { operations: 0, ..USUAL };

/// A machine, and a minute between two looks.
struct Machine {
    judge: SlowDisksJudge,
    settings: SlowDisksSettings,
    now: Now,
    at: Duration,
    disks: Vec<(Device, Work)>,
}

fn device(number: usize) -> Device {
    let name = format!("sd{}", char::from(b'a' + u8::try_from(number % 26).unwrap()));
    let name = if number < 26 { name } else { format!("{name}{}", number / 26) };
    let model = Model {
        name: "SEAGATE ST4000NM0025".to_owned(),
        is_rotational: true,
        size_class: 32,
        scheduler: "mq-deadline".to_owned(),
        write_cache: "write back".to_owned(),
    };
    Device {
        subject: name.clone(),
        name,
        sequence: Some(number as u64),
        serial: format!("ZC{number}"),
        model,
        counters: Counters::default(),
    }
}

impl Machine {
    /// One that was looked at once.
    fn new(disks: usize) -> Self {
        Self::with((0..disks).map(device).collect(), settings())
    }

    /// Four disks of a kind.
    fn of(is_rotational: bool) -> Self {
        let mut devices: Vec<Device> = (0..4).map(device).collect();
        devices.iter_mut().for_each(|device| device.model.is_rotational = is_rotational);
        Self::with(devices, settings())
    }

    fn with(devices: Vec<Device>, settings: SlowDisksSettings) -> Self {
        let now = Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::from_secs(1000), boot_id: "one".to_owned() };
        let disks = devices.into_iter().map(|device| (device, USUAL)).collect();
        let judge = SlowDisksJudge::new(settings.clone());
        let mut machine = Self { judge, settings, now, at: Duration::from_secs(1000), disks };
        machine.look();
        machine
    }

    fn give(&mut self, disk: usize, work: Work) {
        self.disks[disk].1 = work;
    }

    fn give_all(&mut self, work: Work) {
        self.disks.iter_mut().for_each(|(_, given)| *given = work);
    }

    /// Lets `time` pass, with an interval's work in it.
    fn pass(&mut self, time: Duration) {
        (self.now.wall, self.now.boottime, self.at) = (self.now.wall + time, self.now.boottime + time, self.at + time);
        self.disks.iter_mut().for_each(|(device, work)| work.done(&mut device.counters));
    }

    fn look(&mut self) -> Findings {
        let devices = self.disks.iter().map(|(device, _)| device.clone()).collect();
        let reading = RawReading::of(&SlowDisksReading { at: self.at, devices }).map_err(PollError::Read);
        let (now, listed) = (self.now.clone(), Ok(vec![ALL.to_owned()]));
        self.judge.judge(Round { now, listed, answers: vec![(ALL.to_owned(), reading)] })
    }

    fn looks(&mut self, count: usize) -> Findings {
        let mut findings = Findings::default();
        for _ in 0..count {
            self.pass(INTERVAL);
            findings = self.look();
        }
        findings
    }

    fn windows(&mut self, count: usize) -> Vec<String> {
        slow(&self.looks(count * SAMPLES))
    }

    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = SlowDisksJudge::new(self.settings.clone());
        saved.into_iter().for_each(|saved| self.judge.load(saved));
        self.look();
    }
}

impl Work {
    fn done(&self, counters: &mut Counters) {
        let Self { is_read, operations, sectors_each, millis_each, queue, flushes, discards } = *self;
        let millis = operations * millis_each;
        let done = Counters { discards, flushes, busy_millis: (millis / queue).min(60_000), ..Counters::default() };
        let transfers = Transfers { operations, sectors: operations * sectors_each, millis };
        let done = match is_read {
            true => Counters { reads: transfers, ..done },
            false => Counters { writes: transfers, ..done },
        };
        *counters = counters.plus(&done);
    }
}

/// The subjects that are slow.
fn slow(findings: &Findings) -> Vec<String> {
    let is_slow = |state: &State| match state {
        State::Faulty(faults) => faults.iter().any(|fault| fault.reason.as_str() == "DiskSlow"),
        _ => false,
    };
    let named = findings.verdicts.iter().filter(|verdict| is_slow(&verdict.state));
    named.map(|verdict| verdict.subject.clone()).collect()
}

/// How many could be compared.
fn compared(findings: &Findings) -> u32 {
    findings.hardware.iter().map(|class| class.total).sum()
}

const NONE: [&str; 0] = [];
