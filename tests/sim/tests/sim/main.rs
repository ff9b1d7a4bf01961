//! What the simulation proves: seeds, scripted stories, and guards switched off. One binary, which is linked once.

mod liar;
mod mutations;
mod plots;
mod seeds;
