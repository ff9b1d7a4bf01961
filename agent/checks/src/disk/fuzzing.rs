//! One door to all parsers of devices' bytes, for the fuzz target `disk` and for the test that replays its corpus on stable.

use super::{ata, nvme, raid, scsi, thin_pool};

/// Runs every parser on the same bytes; what it checks, none may break.
pub fn disk(bytes: &[u8]) {
    nvme_pages(bytes);
    ata_blocks(bytes);
    scsi_answers(bytes);
    let line = String::from_utf8_lossy(bytes);
    assert!(raid::paths(&line).len() <= line.len());
    let pool = thin_pool::parse(&line).unwrap_or_default();
    assert!(pool.data_percent <= 100 && pool.metadata_percent <= 100);
}

fn nvme_pages(bytes: &[u8]) {
    if let Ok(health) = nvme::log::HealthLog::parse(bytes) {
        assert!(health.spare_percent <= 100 && health.celsius.is_none_or(|now| (-40..=125).contains(&now)));
    }
    assert!(nvme::log::errors(bytes).iter().all(|entry| entry.count != 0));
    let _ = (nvme::log::IdentifyController::parse(bytes), nvme::log::latest_self_test(bytes));
}

/// With the checksum that the disk would have given them, too: else nothing gets past it.
fn ata_blocks(bytes: &[u8]) {
    let mut summed = bytes.to_vec();
    if let Some(last) = summed.get_mut(511) {
        *last = 0;
        let sum = summed.iter().take(511).fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        summed[511] = 0_u8.wrapping_sub(sum);
    }
    for block in [bytes, &summed] {
        let thresholds = ata::page::Thresholds::parse(block).ok();
        let attributes = ata::page::attributes(block, thresholds.as_ref()).unwrap_or_default();
        assert!(attributes.iter().all(|attribute| attribute.id != 0 && attribute.raw < 1 << 48));
        let _ = (ata::page::IdentifyDevice::parse(block), ata::page::self_test(block));
    }
}

fn scsi_answers(bytes: &[u8]) {
    let _ = (scsi::sense::Sense::parse(bytes), scsi::log::grown_defects(bytes));
    // Whatever page it claims to be.
    let code = bytes.first().map_or(0, |first| first & 0x3f);
    if let Ok(page) = scsi::log::LogPage::parse(code, bytes) {
        let _ =
            (page.predicted(), page.temperature(), page.uncorrected_errors(), page.used_percent(), page.self_test());
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_corpus_breaks_nothing() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus/disk");
        let inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!inputs.is_empty());
        for input in inputs {
            disk(&fs::read(input).unwrap());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_anything(bytes in proptest::collection::vec(any::<u8>(), 0..4200)) {
            disk(&bytes);
        }
    }
}
