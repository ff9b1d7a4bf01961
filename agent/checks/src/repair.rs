//! Repairs: whether a unit that is reported broken is to be restarted now. Pure: what is wrong, what the unit does and
//! what was tried before come in; one decision for each unit comes out, and at most one of them is an act.

pub mod decide;
pub mod history;
pub mod settings;
mod unit;

pub use decide::{Activity, Decision, Hold, Moment, ObservedUnit, UnitNow, UnitProblem, decide_all};
pub use history::{Attempt, History, Outcome};
pub use settings::{RepairMethod, RepairSettings, UnitRepair};
