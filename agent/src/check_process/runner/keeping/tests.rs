//! What is saved: across restarts, not across damage, and never at the price of waiting.

use serde_json::json;
use tempfile::TempDir;

use super::*;

fn said() -> Said {
    Said {
        condition: Name::fixed("DiskUnhealthy"),
        subject: "nvme0".to_owned(),
        reason: Name::fixed("NvmeSpareLow"),
        since: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

async fn read(folder: &TempDir) -> Kept {
    Keeping::start(folder.path(), CheckKind::Disk).read().await
}

/// The thread writes in its own time.
async fn written(folder: &TempDir, is_it: impl Fn(&Kept) -> bool) -> Kept {
    loop {
        let kept = read(folder).await;
        if is_it(&kept) {
            return kept;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_is_kept_is_there_again_and_what_did_not_change_is_kept_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut keeping = Keeping::start(folder.path(), CheckKind::Disk);
    assert_eq!(keeping.read().await, Kept::default());
    keeping.write(Some(json!({"a": 1})), vec![]);
    written(&folder, |kept| kept.judge.is_some()).await;
    keeping.write(None, vec![said()]);
    let kept = written(&folder, |kept| !kept.said.is_empty()).await;
    assert_eq!(kept, Kept { judge: Some(json!({"a": 1})), said: vec![said()] });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
}

#[tokio::test]
async fn damage_is_put_aside() {
    for damage in ["", "{", "7", "{\"said\": 1}", "\0\0\0\0"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("disk.json"), damage).unwrap();
        assert_eq!(read(&folder).await, Kept::default(), "{damage}");
        assert_eq!(fs::read_to_string(folder.path().join("disk.corrupt")).unwrap(), damage);
        assert!(!folder.path().join("disk.json").exists());
    }
    let folder = tempfile::tempdir().unwrap();
    fs::File::create(folder.path().join("disk.json")).unwrap().set_len(FILE_LIMIT_BYTES + 1).unwrap();
    assert_eq!(read(&folder).await, Kept::default());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_no_reason_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let mut keeping = Keeping::start(&folder.path().join("file/below"), CheckKind::Gpu);
    assert_eq!(keeping.read().await, Kept::default());
    keeping.write(Some(json!(1)), vec![said()]);
    keeping.write(Some(json!(2)), vec![]);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_does_not_answer_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    nix::unistd::mkfifo(&folder.path().join("disk.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    // No process ever writes into the pipe: its reader hangs.
    let mut keeping = Keeping::start(folder.path(), CheckKind::Disk);
    assert_eq!(keeping.read().await, Kept::default());
    keeping.write(Some(json!(1)), vec![said()]);
    assert_eq!(*keeping.outbox.text.lock().unwrap(), None, "what was not read is not written over");
}

#[tokio::test]
async fn what_cannot_be_read_now_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("disk.json")).unwrap();
    let mut keeping = Keeping::start(folder.path(), CheckKind::Disk);
    assert_eq!(keeping.read().await, Kept::default());
    keeping.write(Some(json!(1)), vec![said()]);
    assert_eq!(*keeping.outbox.text.lock().unwrap(), None);
}
