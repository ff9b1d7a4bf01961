//! GPUs whose state is unknown.

use super::*;
use crate::probe::unknown::tests::poll_errors;

#[test]
fn without_a_list_all_are_unknown_and_counted_until_there_is_one() {
    for (error, reason) in poll_errors() {
        let mut bench = bench();
        bench.set(TWO, |gpu| gpu.remap = Some(Remap { failed: true, ..Remap::default() }));
        let total = bench.round().hardware[0].total;
        let findings = bench.unlisted(error);
        for subject in [ONE, TWO, DRIVER] {
            assert_eq!(reasons(&findings, subject), [format!("unknown {reason}")]);
        }
        assert_eq!(findings.hardware[0].total, total);
        let findings = bench.round();
        assert_eq!(
            (reasons(&findings, ONE), reasons(&findings, TWO)),
            (vec!["healthy".into()], vec!["GpuRowRemapFailed".into()])
        );
    }
}

#[test]
fn what_a_gpu_that_does_not_answer_had_is_reported_beside_its_xid() {
    let mut bench = bench();
    bench.set(ONE, |gpu| gpu.remap = Some(Remap { failed: true, ..Remap::default() }));
    bench.round();
    bench.xid(ONE, 119, 1);
    for (error, _) in poll_errors() {
        bench.gpus.insert(ONE, Err(error.clone()));
        for findings in [bench.round(), bench.round(), bench.unlisted(error)] {
            assert_eq!(reasons(&findings, ONE), ["GpuXid119GspRpcTimeout", "GpuRowRemapFailed"]);
        }
    }
}
