//! Shows the metrics what drivers count of a runner's devices and no judge judges.

use nodewell_model::HwCountersView;

use crate::{hw_counters::HwCountersFile, runtime::clock};

/// One runner's side of the file.
#[derive(Debug)]
pub(super) struct HwCountersShare {
    file: HwCountersFile,
    /// Whether the file shows any.
    are_shown: bool,
    /// The last write failed, which was logged.
    has_failed: bool,
}

impl HwCountersShare {
    /// An earlier run may have shown some.
    pub(super) fn new(file: HwCountersFile) -> Self {
        let are_shown = file.shown(clock::boottime()).is_some_and(|view| !view.shown.is_empty());
        Self { file, are_shown, has_failed: false }
    }

    /// Most machines have no such device, and need no file.
    pub(super) fn show(&mut self, view: &HwCountersView) {
        if view.shown.is_empty() && !self.are_shown {
            return;
        }
        let error = self.file.show(view).err();
        if error.is_none() {
            self.are_shown = !view.shown.is_empty();
        }
        let had_failed = std::mem::replace(&mut self.has_failed, error.is_some());
        if let Some(error) = error.filter(|_| !had_failed) {
            tracing::warn!(%error, "the counters of fabric cards cannot be shown");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use nodewell_model::HwCounters;

    use super::*;

    fn view(shown: Vec<HwCounters>) -> HwCountersView {
        HwCountersView { shown, left_out: 0, valid_until_secs: u64::MAX }
    }

    fn one() -> HwCountersView {
        let counters = BTreeMap::from([("rx_drops".to_owned(), 7)]);
        view(vec![HwCounters { device: "efa_0".to_owned(), port: Some("1".to_owned()), counters }])
    }

    fn file(folder: &Path) -> HwCountersFile {
        HwCountersFile::of(&folder.join("socket"))
    }

    #[test]
    fn a_machine_without_such_cards_gets_no_file() {
        let folder = tempfile::tempdir().unwrap();
        HwCountersShare::new(file(folder.path())).show(&view(Vec::new()));
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn what_is_gone_is_not_shown_any_more_after_a_restart_either() {
        let folder = tempfile::tempdir().unwrap();
        let shown = || file(folder.path()).shown(clock::boottime());
        HwCountersShare::new(file(folder.path())).show(&one());
        assert_eq!(shown(), Some(one()));
        let mut share = HwCountersShare::new(file(folder.path()));
        share.show(&view(Vec::new()));
        assert_eq!(shown(), Some(view(Vec::new())));
        share.show(&one());
        assert_eq!(shown(), Some(one()));
    }
}
