//! A fixture of one node for the automaton, and what must hold in it.

mod course;
mod cycles;
mod edges;
mod evidence;
mod fixture;
mod foreign;
mod hands;
mod hostile;
mod laws;
mod parts;
mod reasons;
mod single;
mod unread;
mod walk;
