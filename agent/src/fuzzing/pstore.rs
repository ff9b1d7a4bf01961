//! What firmware and a dying kernel left behind: any name, any bytes, as the kernel's folder and the archive have them.

use std::{path::PathBuf, time::Duration};

use jiff::Timestamp;
use nodewell_model::{BootId, text::MESSAGE_LIMIT_BYTES};

use crate::{
    monitors::boot::{mark::Mark, pstore::PstoreDumps, verdict::Evidence},
    pstore_collector::{PstoreRecords, gather::RecordFile},
};

/// The first line is the record's name. Nothing is made up, everything reported is fit to show, and is reported only
/// once.
pub fn pstore(input: &[u8]) {
    let (name, text) = input.split_at(input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len()));
    let path = PathBuf::from(String::from_utf8_lossy(name).into_owned());
    let file = RecordFile { path, text: text.to_vec(), written: Some(Timestamp::UNIX_EPOCH) };
    let both = PstoreRecords { pstore: vec![file.clone()], archive: vec![file] };
    let pstore = PstoreDumps::read(&both);
    let read_bytes: usize = pstore.dumps.iter().map(|dump| dump.text.len()).sum();
    assert!(read_bytes <= text.len(), "{read_bytes} bytes of {}", text.len());
    let mark = Mark { boot_id: BootId::default(), stopped: false, alive: Timestamp::UNIX_EPOCH, reported: Vec::new() };
    let all = Mark::ids(pstore.dumps.iter().map(|dump| dump.id));
    let evidence = |mark| Evidence {
        mark: Some(mark),
        pstore: pstore.clone(),
        journal: None,
        now: Timestamp::now(),
        up: Duration::ZERO,
    };
    for finding in evidence(mark.clone()).findings() {
        assert!(finding.message.len() <= MESSAGE_LIMIT_BYTES && finding.time <= Timestamp::now());
    }
    let complete = all.len() == pstore.dumps.len();
    let again = evidence(Mark { reported: all, stopped: true, ..mark }).findings();
    assert!(again.is_empty() || !complete, "reported again: {again:?}");
}
