//! What is saved: across restarts, not across damage, and never at the price of waiting.

use nodewell_checks::{disk, gpu};
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn reported() -> ReportedCondition {
    ReportedCondition {
        condition: Name::fixed("DiskUnhealthy"),
        subject: "nvme0".to_owned(),
        reason: Name::fixed("NvmeSpareLow"),
        since: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

async fn read(folder: &TempDir) -> SavedState {
    StateFile::of_check(folder.path(), &disk::CHECK).load().await
}

/// The thread writes in its own time.
async fn written(folder: &TempDir, is_it: impl Fn(&SavedState) -> bool) -> SavedState {
    loop {
        let state = read(folder).await;
        if is_it(&state) {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_is_saved_is_loaded_again_and_what_did_not_change_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut state_file = StateFile::of_check(folder.path(), &disk::CHECK);
    assert_eq!(state_file.load().await, SavedState::default());
    state_file.save(Some(json!({"a": 1})), vec![]);
    written(&folder, |state| state.judge.is_some()).await;
    state_file.save(None, vec![reported()]);
    let state = written(&folder, |state| !state.reported.is_empty()).await;
    assert_eq!(state, SavedState { judge: Some(json!({"a": 1})), reported: vec![reported()] });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
}

#[tokio::test]
async fn damage_is_put_aside() {
    for damage in ["", "{", "7", "{\"reported\": 1}", "\0\0\0\0"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("disk.json"), damage).unwrap();
        assert_eq!(read(&folder).await, SavedState::default(), "{damage}");
        assert_eq!(fs::read_to_string(folder.path().join("disk.corrupt")).unwrap(), damage);
        assert!(!folder.path().join("disk.json").exists());
    }
    let folder = tempfile::tempdir().unwrap();
    fs::File::create(folder.path().join("disk.json")).unwrap().set_len(FILE_LIMIT_BYTES + 1).unwrap();
    assert_eq!(read(&folder).await, SavedState::default());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_no_reason_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let mut state_file = StateFile::of_check(&folder.path().join("file/below"), &gpu::CHECK);
    assert_eq!(state_file.load().await, SavedState::default());
    state_file.save(Some(json!(1)), vec![reported()]);
    state_file.save(Some(json!(2)), vec![]);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_does_not_answer_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    nix::unistd::mkfifo(&folder.path().join("disk.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    // No process ever writes into the pipe: its reader hangs.
    let mut state_file = StateFile::of_check(folder.path(), &disk::CHECK);
    assert_eq!(state_file.load().await, SavedState::default());
    state_file.save(Some(json!(1)), vec![reported()]);
    assert_eq!(state_file.latest_write.lock().text, None, "what was not read is not written over");
}

/// What a thread was started for is done.
fn wait_idle(state_file: &StateFile) {
    while state_file.latest_write.lock().is_at_work {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn what_cannot_be_read_now_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("disk.json")).unwrap();
    let mut state_file = StateFile::of_check(folder.path(), &disk::CHECK);
    assert_eq!(state_file.load().await, SavedState::default());
    state_file.save(Some(json!(1)), vec![reported()]);
    // A thread would have taken it by now, and left its draft beside what it cannot replace.
    wait_idle(&state_file);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
