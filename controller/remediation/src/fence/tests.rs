//! A fixture of one node for the state machine, and what must hold in it.

mod activity;
mod attached;
mod booted;
mod course;
mod cycles;
mod edges;
mod evidence;
mod fixture;
mod foreign;
mod hands;
mod hostile;
mod laws;
mod level_scopes;
mod levels;
mod limit;
mod marks;
mod parts;
mod portions;
mod readings;
mod reasons;
mod release;
mod single;
mod unread;
mod walk;
