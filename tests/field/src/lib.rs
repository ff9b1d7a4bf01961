//! Labelled logs of real faults through the rules: a folder with `expect.tsv` and the logs in `cases/`, maybe also with
//! logs of healthy machines in `quiet/`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod label;
mod quiet;
mod score;
mod table;

pub use label::{Label, LabelError, Verdict, read};
pub use quiet::quiet;
pub use score::{Family, Outcome, Score, judge, judge_quiet};
pub use table::print;
