//! The source against files, FIFOs and, as root, the machine's own kernel log.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use nix::{sys::stat::Mode, unistd::mkfifo};

use super::*;
use crate::sources::testing::Running;

fn at(path: &Path) -> KmsgOptions {
    KmsgOptions { input: KmsgInput::Path(path.into()), ..KmsgOptions::default() }
}

/// As socket activation passes it on: open, and at any position.
fn activated(descriptor: impl Into<OwnedFd>, otherwise: &Path) -> KmsgInput {
    KmsgInput::Open { descriptor: Arc::new(descriptor.into()), otherwise: otherwise.to_owned() }
}

fn nowhere() -> std::path::PathBuf {
    "/nonexistent/kmsg".into()
}

fn append(path: &Path, text: &str) {
    File::options().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_file_is_read_and_followed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    fs::write(&path, "3,7,1000,-;first\n SUBSYSTEM=block\n6,8,1001,-;second\n").unwrap();
    let running = Running::start(Kmsg::new(at(&path)));
    let seen = running.until(|seen| seen.records.len() == 2 && seen.idles > 0);
    assert_eq!(seen.texts(), ["first", "second"]);
    assert_eq!(seen.records[0].fields, [("SUBSYSTEM", "block".to_owned()), ("PRIORITY", "3".to_owned())]);
    append(&path, "6,9,1002,-;third\n");
    let seen = running.until(|seen| seen.records.len() == 3);
    assert_eq!(seen.lost(), 0);
    assert!(Timestamp::now().duration_since(seen.records[2].time).as_secs() < 5, "stamped on reading");
}

#[test]
fn missing_numbers_are_a_counted_gap_whatever_their_facility() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    fs::write(&path, "6,1,1,-;a\n14,2,2,-;user space\n6,6,3,-;b\n6,7,4,-;c\n6,0,1,-;another boot\n").unwrap();
    let seen = Running::start(Kmsg::new(at(&path))).until(|seen| seen.records.len() == 4);
    assert_eq!(seen.texts(), ["a", "b", "c", "another boot"]);
    assert_eq!((seen.gaps.len(), seen.lost()), (1, 3));
    assert_eq!(seen.passed_over, 1);
}

#[test]
fn a_fifo_outlives_its_writers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    let running = Running::start(Kmsg::new(at(&path)));
    running.until(|seen| seen.running());
    append(&path, "6,1,1,-;one\n");
    running.until(|seen| seen.texts() == ["one"]);
    append(&path, "6,2,2,-;two\n");
    running.until(|seen| seen.texts() == ["one", "two"]);
}

#[test]
fn a_line_of_a_megabyte_loses_no_neighbour() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    fs::write(&path, format!("6,1,1,-;a\n6,2,2,-;{}\ngarbage\n6,3,3,-;b\0%s\\xff\n", "x".repeat(1 << 20))).unwrap();
    let seen = Running::start(Kmsg::new(at(&path))).until(|seen| seen.records.len() == 3);
    assert_eq!((seen.texts()[0], seen.texts()[2], seen.lost()), ("a", "b\0%s\u{fffd}", 0));
}

#[test]
fn an_injected_record_is_heard_once_and_marked_as_a_test() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    fs::write(&path, "").unwrap();
    let options = at(&path);
    options.expectations.expect("n1".into(), Duration::MAX);
    let running = Running::start(Kmsg::new(options));
    let line = "nodewell-inject n1: Oops: 0000 [#1]";
    append(&path, &format!("14,1,1,-;{line}\n14,2,2,-;{line}\n14,3,3,-;Oops: 0000 [#1]\n6,4,4,-;end\n"));
    let seen = running.until(|seen| seen.texts().last() == Some(&"end"));
    assert_eq!(seen.texts(), ["Oops: 0000 [#1]", "end"]);
    assert_eq!(seen.records.iter().map(|r| r.test).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_missing_log_is_blind_until_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    let running = Running::start(Kmsg::new(at(&path)));
    let seen = running.until(|seen| !seen.states.is_empty());
    assert_eq!(seen.blind(), Some("KmsgMissing"));
    fs::write(&path, "6,1,1,-;there\n").unwrap();
    let seen = running.until(|seen| seen.running() && !seen.records.is_empty());
    assert_eq!(seen.texts(), ["there"]);
}

#[test]
fn a_service_without_the_device_points_at_the_socket_that_passes_it_on() {
    assert_eq!(missing("/dev/kmsg", true), "KmsgMissing/service");
    assert_eq!(missing("/dev/kmsg", false), "KmsgMissing");
    assert_eq!(missing("/var/log/kern.log", true), "KmsgMissing");
}

#[test]
fn what_is_in_the_kernel_logs_place_has_to_be_it() {
    let dir = tempfile::tempdir().unwrap();
    let (fifo, file) = (dir.path().join("fifo"), dir.path().join("file"));
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    fs::write(&file, "6,1,1,-;a record\n").unwrap();
    for path in [&*fifo, &*file, Path::new("/dev/null")] {
        assert!(open_log(path, &nowhere()).is_ok(), "{path:?} was chosen");
        let error = open_log(path, path).err().unwrap();
        let SourceState::Blind { reason, message } = Kmsg::new(at(path)).blind(&error) else { unreachable!() };
        assert_eq!(reason.as_str(), "KmsgMissing");
        assert!(message.starts_with(&format!("{} is not the kernel log", path.display())), "{message}");
    }
}

#[test]
fn a_log_that_must_not_be_read_is_blind() {
    if nix::unistd::geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "SKIP a_log_that_must_not_be_read_is_blind: root may read everything");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    File::options().append(true).create(true).mode(0o000).open(&path).unwrap();
    let seen = Running::start(Kmsg::new(at(&path))).until(|seen| seen.idles > 0);
    assert_eq!(seen.blind(), Some("PermissionDenied"));
}

#[test]
fn a_pipe_without_writers_is_blind() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let options = KmsgOptions { input: activated(reader, &nowhere()), ..KmsgOptions::default() };
    let running = Running::start(Kmsg::new(options));
    writer.write_all(b"6,1,1,-;last words\n").unwrap();
    drop(writer);
    let seen = running.until(|seen| seen.blind() == Some("KmsgUnreadable"));
    assert_eq!(seen.texts(), ["last words"]);
}

#[test]
fn a_descriptor_is_read_from_its_beginning_wherever_another_left_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    fs::write(&path, "6,1,1,-;first\n6,2,2,-;second\n").unwrap();
    let mut file = File::open(&path).unwrap();
    file.read_to_end(&mut Vec::new()).unwrap();
    let shared = file.try_clone().unwrap();
    for reader in [file, shared] {
        let options = KmsgOptions { input: activated(reader, &nowhere()), ..KmsgOptions::default() };
        let seen = Running::start(Kmsg::new(options)).until(|seen| seen.records.len() == 2);
        assert_eq!((seen.texts(), seen.lost()), (vec!["first", "second"], 0));
    }
}

#[test]
fn a_descriptor_that_fails_gives_way_to_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    fs::write(&path, "6,1,1,-;by its path\n").unwrap();
    let folder = File::open(dir.path()).unwrap();
    let options = KmsgOptions { input: activated(folder, &path), ..KmsgOptions::default() };
    let seen = Running::start(Kmsg::new(options)).until(|seen| seen.running() && !seen.records.is_empty());
    assert_eq!(seen.texts(), ["by its path"]);
}

/// The machine's kernel log, for one test at a time, with the kernel's limit on writers lifted and put back.
struct RealKmsg {
    limit: String,
    device: File,
    _alone: MutexGuard<'static, ()>,
}

const LIMIT: &str = "/proc/sys/kernel/printk_devkmsg";

impl RealKmsg {
    fn open(test: &str) -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let opened = File::options().read(true).write(true).custom_flags(nonblocking()).open("/dev/kmsg");
        let limit = fs::read_to_string(LIMIT).and_then(|limit| fs::write(LIMIT, "on\n").map(|()| limit));
        match (opened, limit) {
            (Ok(device), Ok(limit)) => Some(Self { limit, device, _alone: alone }),
            (opened, limit) => {
                let mut out = std::io::stderr();
                let _ = writeln!(out, "SKIP {test}: needs root and /dev/kmsg: {:?} {:?}", opened.err(), limit.err());
                None
            }
        }
    }

    fn write(&self, text: &str) {
        (&self.device).write_all(format!("<14>{text}\n").as_bytes()).unwrap();
    }
}

impl Drop for RealKmsg {
    fn drop(&mut self) {
        let _ = fs::write(LIMIT, &self.limit);
    }
}

fn nonblocking() -> i32 {
    nix::fcntl::OFlag::O_NONBLOCK.bits()
}

fn real(start: KmsgStart) -> KmsgOptions {
    KmsgOptions { facilities: vec![0, 1], start, ..KmsgOptions::default() }
}

/// Unlike every other text in the ring.
fn token() -> String {
    format!("nodewell-test-{}-{}", std::process::id(), clock::boottime().as_nanos())
}

#[test]
fn real_records_arrive_with_their_bytes_and_the_present_time() {
    let Some(kmsg) = RealKmsg::open("real_records_arrive_with_their_bytes_and_the_present_time") else { return };
    let running = Running::start(Kmsg::new(real(KmsgStart::End)));
    running.until(|seen| seen.running() && seen.idles > 0);
    let token = token();
    kmsg.write(&format!("{token} tab\tbackslash\\ äö %s"));
    let seen = running.until(|seen| seen.texts().iter().any(|text| text.starts_with(&token)));
    let record = seen.records.iter().find(|record| record.text.starts_with(&token)).unwrap();
    assert_eq!(record.text, format!("{token} tab\tbackslash\\ äö %s"));
    let age = Timestamp::now().duration_since(record.time);
    assert!(age.as_secs() < 5 && !age.is_negative(), "{age:?}");
}

#[test]
fn what_user_space_writes_is_not_taken_for_the_kernel() {
    let Some(kmsg) = RealKmsg::open("what_user_space_writes_is_not_taken_for_the_kernel") else { return };
    let source = Kmsg::new(KmsgOptions { start: KmsgStart::End, ..KmsgOptions::default() });
    let running = Running::start(source);
    running.until(|seen| seen.running() && seen.idles > 0);
    (&kmsg.device).write_all(b"<6>nodewell-test: claims to be the kernel\n").unwrap();
    let seen = running.until(|seen| seen.passed_over > 0 && seen.idles > 1);
    assert!(!seen.texts().iter().any(|text| text.contains("claims to be the kernel")));
}

#[test]
fn a_cursor_goes_on_behind_its_record() {
    let Some(kmsg) = RealKmsg::open("a_cursor_goes_on_behind_its_record") else { return };
    let token = token();
    (0..3).for_each(|n| kmsg.write(&format!("{token} {n}")));
    let mine = |text: &&str| text.starts_with(&token);
    let seen = Running::start(Kmsg::new(real(KmsgStart::Oldest)))
        .until(|seen| seen.texts().into_iter().filter(mine).count() == 3);
    let first = seen.records.iter().find(|record| record.text.starts_with(&token)).unwrap();
    let nodewell_model::Origin::Kmsg { boot_id, sequence } = first.origin else { unreachable!() };
    let input = activated(File::open("/dev/kmsg").unwrap(), &nowhere());
    let options = KmsgOptions { input, ..real(KmsgStart::After { boot_id, sequence }) };
    let seen = Running::start(Kmsg::new(options)).until(|seen| seen.idles > 0);
    let texts: Vec<&str> = seen.texts().into_iter().filter(mine).collect();
    assert_eq!(texts, [format!("{token} 1"), format!("{token} 2")]);
    assert_eq!(seen.lost(), 0);
}

#[test]
fn an_overrun_ring_is_counted_to_the_last_record() {
    let Some(mut kmsg) = RealKmsg::open("an_overrun_ring_is_counted_to_the_last_record") else { return };
    kmsg.write("nodewell-test: before the flood");
    let (boot_id, sequence) = (clock::boot_id().unwrap(), newest_sequence(&mut kmsg.device));
    let filler = "x".repeat(200);
    // Far more than the ring holds, while no reader runs.
    (0..20_000).for_each(|n| kmsg.write(&format!("{filler} {n}")));
    kmsg.write("nodewell-test: end of the flood");
    // Of all facilities: journald, for one, reports in the log that the flood was too much for it.
    let facilities = (0..24).collect();
    let options = KmsgOptions { facilities, ..real(KmsgStart::After { boot_id, sequence }) };
    let running = Running::start(Kmsg::new(options));
    let seen = running.until(|seen| seen.texts().contains(&"nodewell-test: end of the flood"));
    let last = seen.records.iter().rfind(|record| record.text == "nodewell-test: end of the flood").unwrap();
    let nodewell_model::Origin::Kmsg { sequence: end, .. } = last.origin else { unreachable!() };
    let read = seen
        .records
        .iter()
        .filter(|r| matches!(r.origin, nodewell_model::Origin::Kmsg { sequence, .. } if sequence <= end));
    assert!(seen.lost() > 0);
    assert_eq!(seen.lost() + read.count() as u64, end - sequence);
}

#[test]
fn a_device_that_has_an_end_is_no_kernel_log() {
    let mut device = super::device::Device::open(std::path::Path::new("/dev/null")).unwrap();
    assert!(device.look().is_err(), "it would be read again and again without an end");
}

fn newest_sequence(device: &mut File) -> u64 {
    let (mut raw, mut newest) = ([0; 8192], 0);
    loop {
        match device.read(&mut raw) {
            Ok(length) => newest = parse(&raw[..length]).unwrap().sequence,
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EPIPE as i32) => {}
            Err(_) => return newest,
        }
    }
}
