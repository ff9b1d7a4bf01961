//! The two threads of the store: the writer, which may wait for the disk, and one that reports when it does.

use std::{
    io,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{Builder, sleep},
    time::Duration,
};

use super::{
    SaveError,
    account::{End, HANGS_AFTER},
    shared::Shared,
    writer::Writer,
};

/// SQLite needs some ten KiB for our statements.
const WRITER_STACK_BYTES: usize = 256 * 1024;
const WATCHER_STACK_BYTES: usize = 64 * 1024;
/// A fault of ours must not become a busy loop.
const PAUSE_AFTER_PANIC: Duration = Duration::from_secs(5);

/// Starts both; they end with the store.
pub(super) fn spawn(shared: &Arc<Shared>, directory: PathBuf) -> io::Result<()> {
    let limit = HANGS_AFTER.as_secs();
    let hangs = SaveError::of("StateHangs", &[("directory", &directory.display()), ("limit", &limit)]);
    let watched = Arc::clone(shared);
    let watcher = Builder::new().name("store-watch".to_owned()).stack_size(WATCHER_STACK_BYTES);
    watcher.spawn(move || watched.watch_for_hangs(&hangs))?;
    let written = Arc::clone(shared);
    let writer = Builder::new().name("store".to_owned()).stack_size(WRITER_STACK_BYTES);
    writer.spawn(move || write(&written, &directory))?;
    Ok(())
}

/// A panic costs what was being written: every owner puts all its rows again.
fn write(shared: &Arc<Shared>, directory: &Path) {
    let run = || Writer::new(Arc::clone(shared), directory.to_owned()).run();
    while std::panic::catch_unwind(AssertUnwindSafe(run)).is_err() {
        shared.change_and_show(|account| {
            account.work_ended();
            account.give_up();
            account.fails(SaveError::of("StateUnwritable/panic", &[]));
        });
        sleep(PAUSE_AFTER_PANIC);
        if shared.lock().end == Some(End::Abandon) {
            break;
        }
    }
    shared.mark_ended();
}
