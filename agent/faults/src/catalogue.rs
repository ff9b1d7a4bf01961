//! The files of the catalogue, one for each kind of device: its reasons, and the messages that go with them.

/// Every file of `catalogue/`, by name.
pub(crate) const FILES: &[&str] = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// What they are called, without `.toml`: as the check that gives their reasons.
pub(crate) const NAMES: &[&str] = include!(concat!(env!("OUT_DIR"), "/catalogue_names.rs"));

/// Where an entry has its two texts, in all texts of its list. Numbers, because a table of references is written to when
/// a program is loaded, and takes memory of each process then.
pub(crate) struct Span {
    pub(crate) begin: u32,
    pub(crate) lengths: [u16; 2],
}

impl Span {
    pub(crate) fn texts(&self, all: &'static str) -> (&'static str, &'static str) {
        let [first, second] = self.lengths.map(usize::from);
        all[self.begin as usize..][..first + second].split_at(first)
    }
}
