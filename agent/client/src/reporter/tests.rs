//! The reporter on a paused clock, and against scripted servers.
