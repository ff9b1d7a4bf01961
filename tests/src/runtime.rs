//! The one async runtime of a test process: cases are plain functions and block on it.

use std::{future::Future, sync::OnceLock};

use tokio::runtime::{Builder, Runtime};

/// The runtime on which doubles serve and clients ask.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
}

/// Runs `future` to its end from a plain function.
pub fn block_on<F: Future>(future: F) -> F::Output {
    runtime().block_on(future)
}
