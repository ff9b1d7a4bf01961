//! Crashes of programs, by the part of the GPU that reported them: the same part again and again, with other programs,
//! and no other part, points at the GPU.
//!
//! A kernel with one block runs on the same part each time, so a single program that crashes in a loop looks like a
//! broken part. The evidence is another program that crashes there too. Names are the programs' own choice, and a pod
//! may crash as it likes: this is never more than an Event. A kernel that fills the GPU crashes in many parts at once.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use super::{super::Line, DAY};

/// Lines within that time of each other are of one crash: a crash prints dozens at once.
const ONE_CRASH: Duration = Duration::from_secs(10);
/// So many crashes in a row, the one that is reported with included, come from one part.
const CRASHES: usize = 4;
const PROGRAMS: usize = 2;
/// More are not remembered.
const MOST: usize = 64;
/// `NV_PROC_NAME_MAX_LENGTH` (open-gpu-kernel-modules, nvlimits.h): what is longer is no name that the driver printed.
const LONGEST_NAME: usize = 100;

const GRAPHICS_EXCEPTION: u32 = 13;
const PAGE_FAULT: u32 = 31;
const CHANNEL_RESET: u32 = 43;

/// The crashes of one GPU with one Xid, the newest last.
#[derive(Debug, Default)]
pub(super) struct Crashes(VecDeque<Crash>);

#[derive(Debug)]
struct Crash {
    /// Its first part; `None`: several.
    place: Option<String>,
    program: Option<String>,
    last: Duration,
}

/// Enough of them came from one part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) crashes: usize,
    pub(super) programs: usize,
    pub(super) place: String,
}

impl Crashes {
    /// One more line of a part. Crashes are looked at when the next begins: only then have they shown all their parts.
    pub(super) fn take(&mut self, place: String, program: Option<&str>, at: Duration) -> Option<Found> {
        if let Some(crash) = self.open(at) {
            crash.last = at;
            crash.place = crash.place.take().filter(|known| *known == place);
            return None;
        }
        self.0.retain(|crash| crash.last.abs_diff(at) < DAY);
        let found = self.found(&place, program);
        if found.is_some() {
            self.0.clear();
        }
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(Crash { place: Some(place), program: program.map(str::to_owned), last: at });
        found
    }

    /// A line of the same crash names its program.
    pub(super) fn name(&mut self, program: &str, at: Duration) {
        if let Some(crash) = self.open(at) {
            crash.program.get_or_insert_with(|| program.to_owned());
        }
    }

    fn open(&mut self, at: Duration) -> Option<&mut Crash> {
        self.0.back_mut().filter(|crash| crash.last.abs_diff(at) < ONE_CRASH)
    }

    fn found(&self, place: &str, program: Option<&str>) -> Option<Found> {
        let is_there = |crash: &Crash| crash.place.as_deref() == Some(place);
        let crashes = self.0.len() + 1;
        let known = self.0.iter().filter_map(|crash| crash.program.as_deref());
        let programs = known.chain(program).collect::<BTreeSet<_>>().len();
        let is_enough = crashes >= CRASHES && programs >= PROGRAMS && self.0.iter().all(is_there);
        is_enough.then(|| Found { crashes, programs, place: place.to_owned() })
    }
}

/// The part of the GPU that a line of Xid 13 or 31 names. In multi-instance mode each instance numbers its own.
pub(super) fn place(line: &Line<'_>, text: &str) -> Option<String> {
    let is_instance = text.split_once("): ").is_some_and(|(head, _)| head.contains("GPU-I:"));
    match line.code {
        _ if is_instance => None,
        GRAPHICS_EXCEPTION => multiprocessor(line.rest),
        PAGE_FAULT => client(line.rest),
        _ => None,
    }
}

/// `Graphics SM Warp Exception on (GPC 7, TPC 2, SM 0): Illegal Instruction Encoding`. The last such words are the
/// driver's: a program's name, which stands before them, is shorter.
fn multiprocessor(rest: &str) -> Option<String> {
    let (_, after) = rest.rsplit_once(" Exception on (GPC ")?;
    let (gpc, after) = after.split_once(", TPC ")?;
    let (tpc, _) = after.split_once([',', ')'])?;
    Some(format!("GPC {}, TPC {}", number(gpc)?, number(tpc)?))
}

/// `MMU Fault: ENGINE GRAPHICS GPC5 GPCCLIENT_T1_5 faulted @ 0x2ae1_d6600000`; older drivers leave the GPC out.
fn client(rest: &str) -> Option<String> {
    let (_, after) = rest.rsplit_once("MMU Fault: ENGINE GRAPHICS GPC")?;
    let (gpc, after) = after.split_once(" GPCCLIENT_T1_")?;
    let (client, _) = after.split_once(' ')?;
    Some(format!("GPC {}, client T1_{}", number(gpc)?, number(client)?))
}

fn number(digits: &str) -> Option<u8> {
    digits.parse().ok()
}

/// The program that a line names: the driver knows it from the channel, and often in the line of Xid 43 alone.
pub(super) fn program<'a>(line: &Line<'a>) -> Option<&'a str> {
    if ![GRAPHICS_EXCEPTION, PAGE_FAULT, CHANNEL_RESET].contains(&line.code) {
        return None;
    }
    let (_, after) = line.rest.strip_prefix("pid=")?.split_once(", name=")?;
    let (name, _) = after.split_once(',')?;
    ((1..=LONGEST_NAME).contains(&name.len()) && !name.contains("<unknown>")).then_some(name)
}
