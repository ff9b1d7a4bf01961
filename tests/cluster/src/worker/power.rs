//! A worker's power: its switch is turned by people and by its BMC, one order after the other, and what the BMC reads
//! is true, unless a case has it lie. What it is the power of, is a [`Body`].
//!
//! The BMC's script has no way to boot a machine that ends with the tests. It writes its order into a pipe, and a
//! thread here does what it says.

use std::{
    fmt::Debug,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::{fd::AsFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use nix::{
    libc::O_NONBLOCK,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::stat::Mode,
    unistd::mkfifo,
};
use nodewell_kit::write_program;

/// How often is looked whether the machine has ended by itself, in milliseconds.
const LOOK_EVERY: u16 = 200;

/// What can be turned on.
pub(super) trait Body: Debug + Send + Sync + 'static {
    /// What is on; it ends when dropped.
    type Machine: Debug + Send;

    /// Its name.
    fn name(&self) -> &str;
    /// Plugs it into the network, and begins to boot.
    fn turn_on(&self) -> Result<Self::Machine, String>;
    /// Takes it out of the network, where it may not be.
    fn unplug(&self);
    /// The process that lives for as long as the machine has power.
    fn process(machine: &Self::Machine) -> u32;
    /// Whether it has ended by itself.
    fn has_ended(machine: &mut Self::Machine) -> bool;
}

/// The machine ends when it is dropped.
#[derive(Debug)]
pub(super) struct Power<B: Body> {
    switch: Arc<Switch<B>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Switch<B: Body> {
    body: B,
    /// What the BMC's script reads.
    folder: PathBuf,
    machine: Mutex<Option<B::Machine>>,
}

impl<B: Body> Power<B> {
    /// Off, with `machine.sh` for a BMC in `folder`, which is made.
    pub(super) fn start(body: B, folder: &Path) -> Self {
        fs::create_dir(folder).unwrap();
        let orders = folder.join("orders");
        mkfifo(&orders, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        write_program(&folder.join("machine.sh"), 0o755, &MACHINE.replace("@D@", &folder.display().to_string()));
        let switch = Switch { body, folder: folder.to_owned(), machine: Mutex::new(None) };
        switch.note("0", "").unwrap();
        let switch = Arc::new(switch);
        let is_over = Arc::new(AtomicBool::new(false));
        // Open for writing too: without a writer it would read as ended.
        let orders = OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(orders).unwrap();
        let (obeys, ends) = (Arc::clone(&switch), Arc::clone(&is_over));
        let thread = Some(thread::spawn(move || obeys.obey(orders, &ends)));
        Self { switch, is_over, thread }
    }

    pub(super) fn on(&self) -> Result<(), String> {
        self.switch.turn_on()
    }

    pub(super) fn off(&self) {
        self.switch.turn_off();
    }

    pub(super) fn is_on(&self) -> bool {
        self.switch.look().is_some()
    }

    /// Whether its BMC reads Off of it, on or off, and takes orders that it does not carry out.
    pub(super) fn lies(&self, lies: bool) {
        let file = self.switch.folder.join("lies");
        if lies { fs::write(file, "").unwrap() } else { fs::remove_file(file).unwrap() }
    }

    /// Of the machine, if it is on. The BMC's orders wait until `take` has ended.
    pub(super) fn of_machine<T>(&self, take: impl FnOnce(&B::Machine) -> T) -> Option<T> {
        self.switch.look().as_ref().map(take)
    }
}

impl<B: Body> Drop for Power<B> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            self.switch.report("its BMC's orders were not taken any more");
        }
        self.off();
    }
}

impl<B: Body> Switch<B> {
    fn obey(&self, mut orders: File, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let mut waiting = [PollFd::new(orders.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut waiting, PollTimeout::from(LOOK_EVERY));
            let mut order = [0];
            while let Ok(1) = orders.read(&mut order) {
                self.take(order[0]);
            }
            drop(self.look());
        }
    }

    /// An order of the BMC's, which is not answered: a machine that did not start is off, and takes the next order.
    fn take(&self, order: u8) {
        match order {
            b'1' => self.turn_on().unwrap_or_else(|why| self.report(&format!("ordered on, and not started: {why}"))),
            b'0' => self.turn_off(),
            _ => {}
        }
    }

    fn turn_on(&self) -> Result<(), String> {
        let mut machine = self.look();
        if machine.is_none() {
            *machine = Some(self.boot().inspect_err(|_| self.set_off())?);
        }
        Ok(())
    }

    fn boot(&self) -> Result<B::Machine, String> {
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        // On from here on: what reads the power meanwhile must not read off.
        self.note("1", "").map_err(failed)?;
        // What a start that failed has left.
        self.body.unplug();
        let booted = self.body.turn_on()?;
        self.note("1", &B::process(&booted).to_string()).map_err(failed)?;
        Ok(booted)
    }

    fn turn_off(&self) {
        let mut machine = self.look();
        if machine.is_some() {
            self.let_go(&mut machine);
        }
    }

    /// The machine, if it is on; one that has ended by itself is off.
    fn look(&self) -> MutexGuard<'_, Option<B::Machine>> {
        let mut machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        if machine.as_mut().is_some_and(B::has_ended) {
            self.let_go(&mut machine);
        }
        machine
    }

    fn let_go(&self, machine: &mut Option<B::Machine>) {
        *machine = None;
        self.set_off();
    }

    /// Without a machine there is no power, whatever stood in the files. This is run while a panic unwinds, too.
    fn set_off(&self) {
        self.body.unplug();
        self.note("0", "").unwrap_or_else(|error| self.report(&format!("its BMC may read On of it: {error}")));
    }

    fn report(&self, what: &str) {
        // A stderr that is gone must not end what turns the machine on.
        let _ = writeln!(io::stderr(), "{}: {what}", self.body.name());
    }

    fn note(&self, power: &str, pid: &str) -> io::Result<()> {
        for (file, content) in [("pid", pid), ("power", power)] {
            let new = self.folder.join(format!("{file}.new"));
            fs::write(&new, content)?;
            fs::rename(new, self.folder.join(file))?;
        }
        Ok(())
    }
}

/// On is a machine that was turned on and whose PID 1, once there is one, lives.
const MACHINE: &str = r#"#!/bin/sh
D=@D@
lives() { grep -q '^State:[[:space:]]*[^Z]' "/proc/$(cat "$D/pid")/status" 2>/dev/null; }
alive() { [ "$(cat "$D/power")" = 1 ] && { [ ! -s "$D/pid" ] || lives; }; }
[ ! -e "$D/lies" ] || { [ "$1" != alive ]; exit; }
case $1 in
alive) alive; exit;;
0|1) echo "$1" 1<>"$D/orders" # never waits for a reader
  for i in $(seq 400); do
    [ -e "$D/power" ] || exit 1 # its folder is gone, and the worker with it
    if [ "$1" = 1 ]; then [ -s "$D/pid" ] && alive && exit 0; else alive || exit 0; fi
    sleep 0.05
  done
  exit 1;;
esac
exit 0
"#;
