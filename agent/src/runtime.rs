//! What every stage runs on: clocks, the stop signal, supervised tasks.

pub mod activation;
pub mod clock;
pub mod crash;
pub mod heap;
pub mod notify;
pub mod open_files;
pub mod pace;
pub mod panics;
pub mod program;
pub mod readable;
pub mod shared_file;
pub mod spawner;
pub mod stats;
pub mod stop;
pub mod tasks;

pub use spawner::Spawner;
pub use stop::Stop;
pub use tasks::{Tasks, boxed};
