//! A made-up cluster on virtual time, its faults, and the invariants that hold at every step.
//!
//! [`run::run`] plays one seed: [`truth`] is what really is so (machines, pods that run, what the API server stores),
//! [`api`] and [`bmc`] are what each replica of the controller sees of it, [`faults`] what goes wrong, [`oracle`] what must
//! never be. The controller in it is the real one: its cache, leader election, loop, decisions and state machine.

pub mod api;
pub mod bmc;
pub mod clocks;
pub mod faults;
pub mod oracle;
pub mod random;
pub mod replica;
pub mod run;
pub mod scenario;
pub mod tally;
pub mod truth;
