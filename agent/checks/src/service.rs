//! Services: whether what a node lives from answers. [`Observer`] asks one of them once, with a deadline; the judge of
//! each ([`ServicesJudge`]) decides what the answers mean. Pure but for [`Observer`] and what it is made of.

mod assessment;
mod discover;
mod judge;
mod observation;
mod own;
mod probe;
mod restarts;
mod service_probe;
mod settings;
mod target;

pub use judge::{Moment, ServicesJudge};
pub use observation::{Observation, Observer, UnitStatus};
pub use probe::{Answer, Down, DownKind, Runtime, Up, probe};
pub use restarts::FREQUENT;
pub use service_probe::{ProbeTiming, ServiceKind, ServiceProbe, service_probes};
pub use settings::{OwnService, OwnTiming, ServiceSettings, Watch};
pub use target::{At, HttpTarget, Target, TargetError, socket_address, socket_path};
