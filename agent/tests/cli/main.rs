//! The command line as a program, by its exit codes and what it writes. The agent is played by these tests.

#![allow(clippy::unwrap_used)]

mod agent;
mod exit_codes;
