//! What the simulation proves: seeds, scripted stories, and guards switched off. One binary, which is linked once.

mod bmcs;
mod clocks;
mod crowds;
mod daemons;
mod drains;
mod heirs;
mod liar;
mod mutations;
mod plots;
mod reboots;
mod records;
mod seeds;
mod volumes;
