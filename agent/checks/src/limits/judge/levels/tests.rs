//! Levels of made-up readings.

use super::*;

fn settings() -> LimitsSettings {
    LimitsSettings::default()
}

fn named<'a>(measures: &'a [Measure], reason: &str) -> &'a Measure {
    measures.iter().find(|measure| measure.fault.reason.as_str() == reason).unwrap()
}

/// Which figures are at their high level, a minute after an empty reading.
fn high(before: KernelReading, reading: KernelReading) -> Vec<String> {
    let mut rates = Rates::default();
    of_kernel(&before, Duration::from_secs(1000), &mut rates, &settings());
    let measures = of_kernel(&reading, Duration::from_secs(1060), &mut rates, &settings());
    measures
        .iter()
        .filter(|measure| measure.value >= f64::from(measure.levels.high))
        .map(|measure| measure.fault.reason.to_string())
        .collect()
}

#[test]
fn a_kernel_that_reports_nothing_is_not_judged() {
    assert!(of_kernel(&KernelReading::default(), Duration::ZERO, &mut Rates::default(), &settings()).is_empty());
}

#[test]
fn what_is_nearly_used_up_is_high() {
    let level = |used| Some(Level { used, max: 1000 });
    let reading =
        KernelReading { conntrack: level(900), file_handles: level(899), pids: level(1200), ..Default::default() };
    assert_eq!(high(KernelReading::default(), reading), ["ConntrackFull", "PidsExhausted"]);
}

#[test]
fn only_packets_lost_since_the_first_look_count() {
    let counts = |drop, early_drop| KernelReading {
        conntrack_counts: Some(ConntrackCounts { drop, early_drop, insert_failed: 7 }),
        ..Default::default()
    };
    assert!(high(counts(1_000_000, 0), counts(1_000_999, 0)).is_empty());
    assert_eq!(high(counts(1_000_000, 0), counts(1_000_500, 500)), ["ConntrackDropping"]);
    assert!(high(counts(1_000_000, 5000), counts(3, 0)).is_empty(), "counters that go back");
}

#[test]
fn busy_cpus_alone_are_no_pressure() {
    let reading = |load| KernelReading {
        cpu_pressure: Some(Pressure { some: 9990, full: 0 }),
        load,
        cpus: 4,
        ..Default::default()
    };
    assert!(high(reading(12.0), reading(12.0)).is_empty());
    assert_eq!(high(reading(40.0), reading(40.0)), ["TasksWaitForCpu"]);
}

#[test]
fn memory_and_disks_are_judged_by_what_no_task_could_do() {
    let pressure = Some(Pressure { some: 10_000, full: 2_500 });
    let reading = KernelReading { memory_pressure: pressure, io_pressure: pressure, ..Default::default() };
    assert_eq!(high(KernelReading::default(), reading), ["TasksWaitForMemory"]);
}

#[test]
fn a_storm_goes_both_ways() {
    let swap = |pages_in, pages_out| KernelReading { swap: Some(Swap { pages_in, pages_out }), ..Default::default() };
    let minute = 60 * 3000;
    assert!(high(swap(0, 0), swap(10, minute)).is_empty());
    assert_eq!(high(swap(0, 0), swap(minute, minute)), ["SwapStorm"]);
    assert!(high(swap(9 * minute, 9 * minute), swap(minute, minute)).is_empty(), "counters that go back");
}

#[test]
fn the_first_look_at_swap_neither_begins_nor_ends_a_storm() {
    let reading = KernelReading { swap: Some(Swap { pages_in: 9, pages_out: 9 }), ..Default::default() };
    let first = of_kernel(&reading, Duration::ZERO, &mut Rates::default(), &settings());
    let (high, low) = (f64::from(first[0].levels.high), f64::from(first[0].levels.low));
    assert!(first[0].value < high && first[0].value >= low);
}

#[test]
fn cgroups_are_named() {
    let tasks = [("kubepods.slice".to_owned(), Level { used: 95, max: 100 })].into();
    let measures = of_cgroups(&CgroupsReading { tasks, ..Default::default() }, &settings());
    let measure = named(&measures, "CgroupPidsExhausted");
    assert_eq!(
        (measure.key.subject.as_deref().unwrap_or_default(), measure.fault.message.as_str()),
        (
            "pids of kubepods.slice",
            "95 of 100 tasks exist, 95 % (limit 90 %); set podPidsLimit, and reserve pids with systemReserved"
        )
    );
}
