//! A world of one node for the automaton, and what must hold in it.

mod course;
mod edges;
mod evidence;
mod hands;
mod laws;
mod parts;
mod single;
mod walk;
mod world;
