//! Last stage: what takes the ledger's content out. (The local socket is one too; it has a room of its own.)

pub mod apiserver;
pub mod console;
pub mod journal;
pub mod metrics;
