//! 200,000 lines a second on the machine's own kernel log: memory stays bounded, and nothing is lost uncounted.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{agent::Plan, kmsg::RealKmsg};

use crate::{
    daemon::{Daemon, kernel_records, wait_idle},
    kernel_log::Writer,
    probe::Probe,
    setting::Setting,
    table::{Row, Unit},
};

const LINES_PER_SECOND: u64 = 200_000;
/// The smallest `MemoryMax` that the agent has to work in.
const PEAK_LIMIT_MIB: f64 = 32.0;
/// Every facility, so that all records count.
const CONFIG: &str =
    "kmsg.facilities = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]
journal.enabled = false\n";

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let measure = "flood of 200,000 lines/s on /dev/kmsg";
    let Writer::Real(kmsg) = &setting.log.writer() else {
        return vec![Row::not_run(measure, "needs root, to write to /dev/kmsg")];
    };
    let daemon = Daemon::start(Plan::new("bench-flood").kernel_log("/dev/kmsg").config(CONFIG));
    let mut probe = daemon.probe();
    let before =
        Before { written: kmsg.write_numbered("nodewell bench: before the flood"), accounted: wait_idle(&mut probe) };
    let (read_before, lost_before) = kernel_records(&mut probe);
    let (pace, peak) = (flood(if setting.quick { 1 } else { 3 }), &daemon.usage());
    let difference = unaccounted(kmsg, &mut probe, &before);
    let (read, lost) = kernel_records(&mut probe);
    let split = format!("{} seen + {} in counted gaps", read - read_before, lost - lost_before);
    vec![
        Row::new(format!("{measure}: written at"), pace / 1e3, Unit::KiloLinesPerSecond).beside(split),
        Row::new("  written, neither seen nor counted as lost", difference, Unit::Count).exactly(0.0).npd("uncounted"),
        Row::new("  peak RSS, journal off", peak.peak_mib(), Unit::MebiBytes).at_most(PEAK_LIMIT_MIB),
    ]
}

/// Lines before the flood: by the kernel's own numbers, and those that the agent accounts for.
struct Before {
    written: u64,
    accounted: u64,
}

/// Lines written by the kernel's own numbers, less what the agent accounts for. Others write to this log too: a number
/// that was behind by the time we looked is asked for again.
fn unaccounted(kmsg: &RealKmsg, probe: &mut Probe, before: &Before) -> f64 {
    let look = || {
        let last = kmsg.write_numbered("nodewell bench: after the flood");
        (precise(last) - precise(before.written)) - (precise(wait_idle(probe)) - precise(before.accounted))
    };
    let looks: Vec<f64> = std::iter::repeat_with(look).take(5).collect();
    looks.into_iter().min_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN)
}

/// Writes for so many seconds and gives the lines a second that the kernel took.
fn flood(seconds: u64) -> f64 {
    let mut device = OpenOptions::new().write(true).open("/dev/kmsg").expect("it was opened before");
    let (start, total) = (Instant::now(), seconds * LINES_PER_SECOND);
    for number in 0..total {
        // A look at the clock for each line would halve the pace.
        if number % 200 == 0 {
            let due = Duration::from_secs(1).mul_f64(precise(number) / precise(LINES_PER_SECOND));
            thread::sleep(due.saturating_sub(start.elapsed()));
        }
        write_line(&mut device, number);
    }
    precise(total) / start.elapsed().as_secs_f64()
}

/// Facility 1, level debug: it stays off the console. One in 10,000 is a fault.
fn write_line(device: &mut File, number: u64) {
    let line = if number % 10_000 == 5000 {
        format!("<15>nfs: server flood-{number} not responding, still trying\n")
    } else {
        format!("<15>nodewell bench flood line {number:>9} of ordinary words that no rule is interested in at all\n")
    };
    device.write_all(line.as_bytes()).expect("the kernel takes it");
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn precise(count: u64) -> f64 {
    count as f64
}
