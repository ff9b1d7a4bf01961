//! Labelled logs of real faults through the rules: a folder with `expect.tsv` and the logs in `cases/`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod label;
mod score;
mod table;

pub use label::{Label, LabelError, Verdict, read};
pub use score::{Family, Outcome, Score, judge};
pub use table::print;
