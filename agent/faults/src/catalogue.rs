//! The files of the catalogue, one for each kind of device: its reasons, and the messages that go with them.

/// Every file of `catalogue/`, by name.
pub(crate) const FILES: &[&str] = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));
