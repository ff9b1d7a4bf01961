//! The ends of SAS links (phys) of controllers and expanders, with their counters of errors
//! (drivers/scsi/scsi_transport_sas.c). Reading a counter asks the controller, or by it the expander, for all of them.

use std::path::Path;

use super::{reading::PhyReading, sysfs};
use crate::probe::ReadError;

const PREFIX: &str = "phy-";
const CLASS: &str = "class/sas_phy";

/// By their file names, which are SAS's own terms (SPL, "REPORT PHY ERROR LOG").
const COUNTERS: [&str; 4] =
    ["invalid_dword_count", "running_disparity_error_count", "loss_of_dword_sync_count", "phy_reset_problem_count"];

/// All of them: `phy-0:3`, of an expander `phy-0:1:12`.
pub(super) fn all(sys: &Path) -> Vec<String> {
    sysfs::names(&sys.join(CLASS)).into_iter().filter(|name| is_name(name)).collect()
}

pub(super) fn is_name(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_prefix(PREFIX).is_some_and(|numbers| numbers.split(':').all(is_number))
}

pub(super) fn is_there(sys: &Path, name: &str) -> bool {
    is_name(name) && sys.join(CLASS).join(name).is_dir()
}

/// One of them. What has no link is not asked: an end that hears nothing counts noise.
pub(super) fn read(sys: &Path, name: &str) -> Result<PhyReading, ReadError> {
    let folder = sys.join(CLASS).join(name);
    let Some(rate) = sysfs::word(&folder, "negotiated_linkrate") else {
        return Err(ReadError::Gone { what: name.to_owned() });
    };
    let mut phy =
        PhyReading { address: sysfs::word(&folder, "sas_address").unwrap_or_default(), ..PhyReading::default() };
    // Others are "Unknown", "Phy disabled", "Link Rate failed", "Spin-up hold".
    if rate.ends_with("Gbit") {
        phy.rate = Some(rate);
        // An expander that does not answer the first question is not asked three times more.
        let counters = COUNTERS.iter().map_while(|name| Some(((*name).to_owned(), sysfs::number(&folder, name)?)));
        phy.counters = counters.collect();
    }
    Ok(phy)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_end_with_a_link_has_counters_and_one_without_is_not_asked() {
        let sys = tempfile::tempdir().unwrap();
        let write = |name: &str, file: &str, text: &str| {
            let folder = sys.path().join(CLASS).join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        };
        for (name, rate) in [("phy-0:3", "12.0 Gbit\n"), ("phy-0:1:12", "Unknown\n")] {
            write(name, "negotiated_linkrate", rate);
            write(name, "sas_address", "0x500605b00ab1f2c0\n");
            COUNTERS.iter().zip([7, 6, 2, 1]).for_each(|(file, count)| write(name, file, &format!("{count}\n")));
        }
        write("host0", "state", "running\n");
        assert_eq!(all(sys.path()), ["phy-0:1:12", "phy-0:3"]);
        let linked = read(sys.path(), "phy-0:3").unwrap();
        assert_eq!((linked.rate.as_deref(), linked.counters.len()), (Some("12.0 Gbit"), 4));
        assert_eq!(linked.counters["loss_of_dword_sync_count"], 2);
        let silent = read(sys.path(), "phy-0:1:12").unwrap();
        assert_eq!((silent.rate, silent.counters.len()), (None, 0));
        fs::remove_file(sys.path().join(CLASS).join("phy-0:3").join(COUNTERS[0])).unwrap();
        assert!(read(sys.path(), "phy-0:3").unwrap().counters.is_empty(), "one that does not answer");
        assert!(matches!(read(sys.path(), "phy-0:4"), Err(ReadError::Gone { .. })));
    }

    #[test]
    fn a_name_that_is_a_path_is_none() {
        for name in ["phy-", "phy-0:", "phy-0:x", "phy-../..", "phy-0:3/..", "sda"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
