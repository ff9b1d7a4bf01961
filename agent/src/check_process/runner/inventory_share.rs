//! Shows people the inventory of a runner's checks, and takes what they accept of it.

use nodewell_model::inventory::{Acceptance, InventoryView};

use crate::{inventory::InventoryFiles, runtime::clock};

/// One runner's side of the two files.
#[derive(Debug)]
pub(super) struct InventoryShare {
    files: InventoryFiles,
    /// What was taken last: its file stays until the next boot.
    taken: Option<Acceptance>,
    /// The last write failed, which was logged.
    has_failed: bool,
}

impl InventoryShare {
    pub(super) fn new(files: InventoryFiles) -> Self {
        Self { files, taken: None, has_failed: false }
    }

    pub(super) fn show(&mut self, view: &InventoryView) {
        let error = self.files.show(view).err();
        let had_failed = std::mem::replace(&mut self.has_failed, error.is_some());
        if let Some(error) = error.filter(|_| !had_failed) {
            tracing::warn!(%error, "the inventory cannot be shown");
        }
    }

    /// What a person accepts of this boot, and was not taken yet.
    pub(super) fn acceptance(&self) -> Option<Acceptance> {
        let boot_id = clock::boot_id()?.to_string();
        let is_new = |acceptance: &Acceptance| acceptance.boot_id == boot_id && self.taken.as_ref() != Some(acceptance);
        self.files.acceptance().filter(is_new)
    }

    pub(super) fn took(&mut self, acceptance: Acceptance) {
        self.taken = Some(acceptance);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn an_acceptance_is_taken_once_and_only_in_its_boot() {
        let folder = tempfile::tempdir().unwrap();
        let files = InventoryFiles::of(&folder.path().join("socket"));
        let mut share = InventoryShare::new(files.clone());
        assert_eq!(share.acceptance(), None);
        let boot_id = clock::boot_id().unwrap().to_string();
        let names = vec!["disk S1".to_owned()];
        let now = Acceptance { boot_id, time: Timestamp::UNIX_EPOCH, names, by: "root".to_owned() };
        files.accept(&Acceptance { boot_id: "another".to_owned(), ..now.clone() }).unwrap();
        assert_eq!(share.acceptance(), None);
        files.accept(&now).unwrap();
        assert_eq!(share.acceptance(), Some(now.clone()));
        share.took(now.clone());
        assert_eq!(share.acceptance(), None);
        let later = Acceptance { time: Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(1), ..now };
        files.accept(&later).unwrap();
        assert_eq!(share.acceptance(), Some(later));
    }
}
