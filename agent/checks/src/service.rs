//! Services: whether what a node lives from answers. [`look`] asks one of them once, with a deadline; the judge of each
//! ([`ServicesJudge`]) decides what the answers mean. Pure but for [`look`] and what it is made of.

mod check;
mod discover;
mod judge;
mod look;
mod probe;
mod restarts;
mod settings;
mod sighting;
mod target;

pub use check::{Check, Kind, Pace, checks};
pub use judge::{Moment, ServicesJudge};
pub use look::{Look, Looker, UnitStatus};
pub use probe::{Answer, Down, DownKind, Runtime, Up, probe};
pub use restarts::FREQUENT;
pub use settings::{OwnService, ServiceSettings, Watch};
pub use target::{At, HttpTarget, Target, TargetError, socket_address, socket_path};
