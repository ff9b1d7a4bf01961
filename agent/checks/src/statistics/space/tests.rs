//! A filesystem that hangs costs itself only; threads stay few.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use super::{FilesystemMount, Inner, LATE_AFTER, MOST_THREADS, Space, Spaces, ask};

const FULL: Space = Space { size_bytes: 100, available_bytes: 5, free_bytes: 10, inodes: 0, free_inodes: 0 };

fn mount(number: &str) -> FilesystemMount {
    FilesystemMount { number: number.to_owned(), mount: 1, mount_point: PathBuf::from("/") }
}

fn refreshed(spaces: &Spaces, mounts: Vec<FilesystemMount>) {
    let (sender, done) = mpsc::channel();
    spaces.refresh(move || mounts, move || sender.send(()).unwrap());
    done.recv_timeout(Duration::from_secs(20)).unwrap();
}

/// As if the question had been asked longer ago than a caller waits.
fn grow_old(spaces: &Spaces) {
    let mut inner = spaces.lock();
    for (_, since) in inner.rounds.iter_mut().filter_map(|round| round.asking.as_mut()) {
        *since = Instant::now().checked_sub(LATE_AFTER).unwrap();
    }
}

#[test]
fn percent_is_of_what_all_users_can_use() {
    assert_eq!((FULL.used_bytes(), FULL.used_percent()), (90, Some(90.0 / 95.0 * 100.0)));
    assert_eq!(Space { size_bytes: 0, available_bytes: 0, free_bytes: 0, ..FULL }.used_percent(), None);
    assert_eq!(Space { free_bytes: 200, ..FULL }.used_bytes(), 0);
}

#[test]
fn the_root_filesystem_has_the_figures_of_statvfs() {
    let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = mountinfo.lines().rfind(|line| line.split(' ').nth(4) == Some("/")).unwrap();
    let mut words = root.split(' ');
    let mount = words.next().unwrap().parse().unwrap();
    let number = words.nth(1).unwrap().to_owned();
    let space = ask(&FilesystemMount { number: number.clone(), mount, mount_point: "/".into() }).unwrap().unwrap();
    let truth = nix::sys::statvfs::statvfs("/").unwrap();
    assert_eq!(space.size_bytes, truth.blocks() * truth.fragment_size());
    let hidden = ask(&FilesystemMount { number, mount: mount + 100_000, mount_point: "/".into() }).unwrap();
    assert_eq!(hidden, None, "what lies on top does not answer for it");
}

#[test]
fn a_filesystem_that_is_gone_is_no_longer_known() {
    let spaces = Spaces::asked_by(|_| Some(FULL));
    refreshed(&spaces, vec![mount("8:1"), mount("8:2")]);
    assert_eq!(spaces.known().len(), 2);
    refreshed(&spaces, vec![mount("8:2")]);
    assert_eq!(spaces.known().into_keys().collect::<Vec<_>>(), ["8:2"]);
}

#[test]
fn one_that_hangs_keeps_the_others_true_and_is_asked_once() {
    let (free, held) = mpsc::channel::<()>();
    let (held, asked) = (Mutex::new(held), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let spaces = Spaces::asked_by(move |mount| {
        if mount.number == "8:1" {
            count.fetch_add(1, SeqCst);
            let _ = held.lock().unwrap().recv();
        }
        Some(FULL)
    });
    let mounts = || vec![mount("8:1"), mount("8:2")];
    let (sender, done) = mpsc::channel();
    spaces.refresh(mounts, move || sender.send(()).unwrap());
    while asked.load(SeqCst) == 0 {
        thread::yield_now();
    }
    grow_old(&spaces);
    assert_eq!(spaces.hanging(), ["8:1"]);
    for _ in 0..5 {
        refreshed(&spaces, mounts());
    }
    done.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(spaces.known().into_keys().collect::<Vec<_>>(), ["8:2"]);
    assert_eq!((asked.load(SeqCst), spaces.lock().rounds.len()), (1, 1));
    drop(free);
    while !spaces.lock().rounds.is_empty() {
        thread::yield_now();
    }
    assert!(spaces.hanging().is_empty());
    refreshed(&spaces, mounts());
    assert_eq!((asked.load(SeqCst), spaces.known().len()), (2, 2));
}

#[test]
fn no_more_than_four_threads_wait_however_many_disks_are_dead() {
    let (free, held) = mpsc::channel::<()>();
    let (held, asked) = (Mutex::new(held), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let spaces = Spaces::asked_by(move |_| {
        count.fetch_add(1, SeqCst);
        let _ = held.lock().unwrap().recv();
        None
    });
    let mounts: Vec<FilesystemMount> = (0..20).map(|number| mount(&format!("8:{number}"))).collect();
    for round in 1..=MOST_THREADS {
        spaces.refresh(
            {
                let mounts = mounts.clone();
                move || mounts
            },
            || {},
        );
        while asked.load(SeqCst) < round {
            thread::yield_now();
        }
        grow_old(&spaces);
    }
    for _ in 0..10 {
        refreshed(&spaces, mounts.clone());
    }
    assert_eq!((spaces.lock().rounds.len(), asked.load(SeqCst)), (MOST_THREADS, MOST_THREADS));
    drop(free);
    while !spaces.lock().rounds.is_empty() {
        thread::yield_now();
    }
}

#[test]
fn a_list_that_hangs_is_waited_for_by_one_thread() {
    let (free, held) = mpsc::channel::<()>();
    let listed = Arc::new(AtomicUsize::new(0));
    let spaces = Spaces::asked_by(|_| Some(FULL));
    let count = Arc::clone(&listed);
    spaces.refresh(
        move || {
            count.fetch_add(1, SeqCst);
            let _ = held.recv();
            vec![mount("8:1")]
        },
        || {},
    );
    while listed.load(SeqCst) == 0 {
        thread::yield_now();
    }
    grow_old(&spaces);
    for _ in 0..5 {
        refreshed(&spaces, vec![mount("8:2")]);
    }
    assert_eq!(spaces.lock().rounds.len(), 1);
    assert!(spaces.known().is_empty());
    drop(free);
    while !spaces.lock().rounds.is_empty() {
        thread::yield_now();
    }
    assert!(spaces.known().is_empty(), "what it found so late is not asked any more");
    refreshed(&spaces, vec![mount("8:2")]);
    assert_eq!(spaces.known().len(), 1);
}

#[test]
fn a_round_that_was_given_up_leaves_the_rest_to_its_successor() {
    let mut inner = Inner { begun: 2, ..Inner::default() };
    assert!(!inner.goes_on(0));
    assert!(inner.goes_on(1));
}
