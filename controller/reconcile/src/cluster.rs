//! The API server, as far as remedies need it, in roles: whoever works with a part of it names that part. Reads are
//! linearizable (no cache); writes carry their preconditions. The longest any call may take is the implementation's to keep;
//! every method may be dropped at any await, which leaves it unknown whether a write took effect.

mod configuration;
mod election;
mod hosts;
mod marks;
mod nodes;
mod pods;
mod records;

pub use configuration::Configuration;
pub use election::{Election, Leadership};
pub use hosts::{Hosts, ReachReport};
pub use marks::{Marks, ReleaseMark};
pub use nodes::{LeaseKind, Nodes};
pub use pods::Pods;
pub use records::Records;

/// All of it.
pub trait Cluster: Nodes + Marks + Pods + Records + Configuration + Hosts + Election {}

impl<C: Nodes + Marks + Pods + Records + Configuration + Hosts + Election> Cluster for C {}
