//! GPUs that are gone, moved, given away, or that a new run does not find.

use super::*;

#[test]
fn an_amd_gpu_whose_file_is_missing_twice_cannot_be_opened() {
    let mut bench = bench();
    let set = |bench: &mut Bench, file: Option<&str>| {
        bench.set(ONE, |gpu| (gpu.vendor, gpu.missing_file) = (Vendor::Amd, file.map(str::to_owned)));
    };
    set(&mut bench, Some("kfd"));
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["AmdGpuDeviceFileMissing"]);
    assert!(fault(&findings, ONE, "AmdGpuDeviceFileMissing").message.starts_with("/dev/kfd is missing"));
    set(&mut bench, None);
    assert_eq!(reasons(&bench.round(), ONE), ["healthy"]);
}

#[test]
fn a_gpu_off_the_list_is_missing_after_two_rounds_and_across_restarts() {
    let mut bench = bench();
    bench.round();
    bench.gpus.remove(TWO);
    assert_eq!(reasons(&bench.round(), TWO), ["healthy"]);
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["GpuMissing"]);
    assert_eq!(hardware(&findings), "2 GPUs: 1 lost");
    bench.restart();
    assert_eq!(reasons(&bench.round(), TWO), ["GpuMissing"], "at once: it was missing already");
    bench.boot = "another boot";
    assert_eq!(reasons(&bench.round(), TWO), ["GpuMissing"]);
    bench.set(TWO, |_| ());
    assert_eq!(reasons(&bench.round(), TWO), ["healthy"]);
}

#[test]
fn a_gpu_that_a_new_run_does_not_find_is_unknown_until_that_is_sure() {
    let mut bench = bench();
    bench.round();
    bench.set(TWO, |gpu| gpu.links = links(&[true]));
    bench.round();
    bench.gpus.remove(TWO);
    bench.restart();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["unknown DeviceUnreadable"], "the last run may have missed it already");
    assert_eq!(reasons_of(&findings, TWO, "GpuFabricUnhealthy"), ["nothing"]);
    assert_eq!(hardware(&findings), "2 GPUs: 1 not found");
    assert_eq!(reasons(&bench.round(), TWO), ["GpuMissing"]);
}

#[test]
fn a_gpu_that_a_new_run_need_not_find_is_not_looked_for() {
    let without_two = |settings: GpuSettings| {
        let mut bench = bench();
        bench.round();
        bench.gpus.remove(TWO);
        bench.judge.settings = settings;
        bench.restart();
        bench
    };
    let mut given = without_two(GpuSettings::default());
    given.driver.elsewhere = vec![TWO.into()];
    assert_eq!(reasons(&given.round(), TWO), ["nothing"], "it has another driver");
    let mut taken_out = without_two(GpuSettings { expected: Some(1), ..GpuSettings::default() });
    for _ in 0..3 {
        assert_eq!(reasons(&taken_out.round(), TWO), ["nothing"], "as many are expected as there are");
    }
}

#[test]
fn while_the_driver_is_silent_it_is_not_known_where_an_unfound_gpu_is() {
    let mut bench = bench();
    bench.round();
    bench.restart();
    for _ in 0..3 {
        bench.seconds += 30;
        let answers = vec![
            (DRIVER.to_owned(), Err(no_answer())),
            (ONE.to_owned(), bench.gpus[ONE].clone().map(RawReading::from)),
        ];
        let listed = Ok(vec![DRIVER.to_owned(), ONE.to_owned()]);
        let findings = bench.judge.judge(Round { now: bench.now(), listed, answers });
        assert_eq!(reasons(&findings, TWO), ["unknown DeviceNotAnswering"]);
    }
    bench.gpus.remove(TWO);
    bench.driver.elsewhere = vec![TWO.into()];
    assert_eq!(reasons(&bench.round(), TWO), ["nothing"]);
}

#[test]
fn a_board_in_another_slot_is_not_missed_in_its_old_one() {
    let mut bench = bench();
    bench.round();
    let moved = bench.gpus.remove(TWO).unwrap();
    bench.gpus.insert("0000:86:00.0", moved);
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["nothing"]);
    assert_eq!(hardware(&findings), "2 GPUs: ");
}

#[test]
fn another_board_in_the_slot_begins_again() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.links = links(&[true]));
    bench.round();
    bench.xid(ONE, 62, 1);
    bench.set(ONE, |gpu| {
        gpu.identity.uuid = Some("GPU-another".into());
        gpu.links = links(&[false]);
    });
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, ONE), ["healthy"]);
    assert_eq!(reasons_of(&findings, ONE, "GpuFabricUnhealthy"), ["nothing"]);
}

#[test]
fn a_gpu_given_to_another_driver_is_not_missing() {
    let mut bench = bench();
    bench.round();
    bench.gpus.remove(TWO);
    bench.driver.elsewhere = vec![TWO.into()];
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["nothing"]);
    assert_eq!(hardware(&findings), "1 GPUs: ");
}

#[test]
fn an_operator_sets_how_many_there_have_to_be() {
    let mut bench = Bench::new(GpuSettings { expected: Some(3), ..GpuSettings::default() });
    assert_eq!(reasons(&bench.round(), DRIVER), ["healthy"]);
    let findings = bench.round();
    assert_eq!(reasons(&findings, DRIVER), ["GpuCountLow"]);
    assert_eq!(
        fault(&findings, DRIVER, "GpuCountLow").message,
        "GPUs that were never seen: 1 (expected 3); compare with lspci -d 10de:, correct `expected` in [gpu] \
         if it is wrong"
    );
    assert_eq!(hardware(&findings), "3 GPUs: 1 lost");

    bench.judge.settings.expected = Some(1);
    bench.gpus.remove(TWO);
    bench.round();
    let findings = bench.round();
    assert_eq!(reasons(&findings, TWO), ["nothing"]);
    assert_eq!(hardware(&findings), "1 GPUs: ");
}

#[test]
fn without_a_driver_nothing_is_reported_and_with_it_everything_is_back() {
    let mut bench = bench();
    bench.round();
    let gone = || PollError::Read(ReadError::Gone { what: "a GPU's driver".into() });
    for _ in 0..3 {
        assert_eq!(bench.unlisted(gone()), Findings::default());
    }
    assert_eq!(reasons(&bench.round(), TWO), ["healthy"]);
    bench.gpus.insert(ONE, Err(PollError::Read(ReadError::Gone { what: "libnvidia-ml.so.1".into() })));
    assert_eq!(reasons(&bench.round(), ONE), ["nothing"]);
}
