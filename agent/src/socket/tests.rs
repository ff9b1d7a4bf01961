//! The socket over real Unix streams: its answers, its bounds, its rude peers.

mod fixture;
mod hostile;
mod routes;
mod stops;
