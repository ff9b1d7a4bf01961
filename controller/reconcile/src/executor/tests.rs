//! What performs, beside one node, its record, its BMC and the API server: each thing that stands before what cannot be
//! taken back, taken away by itself.

mod audit;
mod double;
mod last_look;
mod levels;
mod power_off;
mod questions;
mod readings;
mod release;
mod rounds;
mod stage;
mod steps;
