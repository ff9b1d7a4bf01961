//! The API server, as far as remediations need it, in roles: a caller names the part that it works with. Reads are
//! linearizable (no cache); writes carry their preconditions. The implementation limits how long any call may take;
//! every method may be dropped at any await, which leaves it unknown whether a write took effect.

mod configuration;
mod election;
mod hosts;
mod marks;
mod nodes;
mod pods;
mod records;

pub use configuration::{Configuration, Secret};
pub use election::{Election, Leadership};
pub use hosts::{Hosts, ReachReport};
pub use marks::{Marks, ReleaseMark};
pub use nodes::{LeaseKind, Nodes};
pub use pods::Pods;
pub use records::Records;

/// All of it.
pub trait Cluster: Nodes + Marks + Pods + Records + Configuration + Hosts + Election {}

impl<C: Nodes + Marks + Pods + Records + Configuration + Hosts + Election> Cluster for C {}
