//! How the counters of fabric cards get from the check process that reads them to the metrics: by a small file beside
//! the socket, as the inventory does. They change all the time, and in reports each change would wake the ledger, which
//! judges none of them.

use std::{io, path::Path, time::Duration};

use nodewell_model::HwCountersView;

use crate::runtime::shared_file::SharedFile;

/// A check process shows 128 ports, each with at most 6 KiB of its own and of its card.
const LIMIT_BYTES: u64 = 2 << 20;

/// In a folder of its writer's.
#[derive(Debug, Clone)]
pub struct HwCountersFile(SharedFile);

impl HwCountersFile {
    /// Of the agent that listens on `socket`.
    #[must_use]
    pub fn of(socket: &Path) -> Self {
        Self(SharedFile::beside(socket, "hw-counters", "shown"))
    }

    /// The check process shows what it read.
    pub fn show(&self, view: &HwCountersView) -> io::Result<()> {
        self.0.write(&serde_json::to_vec(view)?)
    }

    /// What it shows, so long after the boot. Nothing if it has none, or did not read them for so long that it may have
    /// ended, and what is not of this version.
    #[must_use]
    pub fn shown(&self, now: Duration) -> Option<HwCountersView> {
        let view: HwCountersView = serde_json::from_str(&self.0.read(LIMIT_BYTES)?).ok()?;
        (now.as_secs() <= view.valid_until_secs).then_some(view)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use nodewell_model::HwCounters;

    use super::*;

    fn view(count: u64) -> HwCountersView {
        let counters = BTreeMap::from([("out_of_sequence".to_owned(), count)]);
        let port = |port: Option<&str>| HwCounters {
            device: "mlx5_0".to_owned(),
            port: port.map(str::to_owned),
            counters: counters.clone(),
        };
        HwCountersView { shown: vec![port(Some("1")), port(None)], left_out: 3, valid_until_secs: 100 }
    }

    #[test]
    fn what_was_shown_is_read_until_it_is_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let file = HwCountersFile::of(&folder.path().join("nodewell.sock"));
        assert_eq!(file.shown(Duration::ZERO), None);
        for count in [7, u64::MAX] {
            file.show(&view(count)).unwrap();
            assert_eq!(file.shown(Duration::from_secs(100)), Some(view(count)));
        }
        assert_eq!(file.shown(Duration::from_secs(101)), None);
    }

    #[test]
    fn garbage_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = HwCountersFile::of(&folder.path().join("nodewell.sock"));
        file.show(&view(7)).unwrap();
        let whole = fs::read_to_string(file.0.path()).unwrap();
        let negative = whole.replace(":7", ":-7");
        assert_ne!(whole, negative);
        for garbage in ["", "[]", "{}", &negative, &whole[..whole.len() / 2]] {
            fs::write(file.0.path(), garbage).unwrap();
            assert_eq!(file.shown(Duration::ZERO), None, "{garbage}");
        }
    }
}
