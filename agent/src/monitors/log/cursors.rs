//! How far a log has been judged: the cursor of its newest record, for each of its files.

use nodewell_model::Origin;

/// Files of one log whose cursor is remembered across a restart of the thread.
const LIMIT: usize = 256;

/// The newest record that was judged, for each file of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cursors(Vec<Origin>);

impl Cursors {
    pub(super) fn new(cursors: Vec<Origin>) -> Self {
        Self(cursors)
    }

    pub(super) fn to_vec(&self) -> Vec<Origin> {
        self.0.clone()
    }

    /// The cursor of the kernel's log, which has one file.
    pub(super) fn kmsg(&self) -> Option<&Origin> {
        self.0.first().filter(|cursor| matches!(cursor, Origin::Kmsg { .. }))
    }

    /// Moves the cursor of the record's file to the record.
    pub(super) fn advance(&mut self, origin: &Origin) {
        match self.0.iter().position(|cursor| is_same_file(cursor, origin)) {
            Some(known) => self.0[known].clone_from(origin),
            None => {
                // The one that was known for longest has not been seen for longest, more often than not.
                if self.0.len() == LIMIT {
                    self.0.remove(0);
                }
                self.0.push(origin.clone());
            }
        }
    }

    /// Forgets a file that was read to its end and is gone.
    pub(super) fn remove(&mut self, cursor: &Origin) {
        self.0.retain(|known| !is_same_file(known, cursor));
    }
}

fn is_same_file(one: &Origin, other: &Origin) -> bool {
    match (one, other) {
        (Origin::File { device, inode, .. }, Origin::File { device: of, inode: file, .. }) => {
            (device, inode) == (of, file)
        }
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}
