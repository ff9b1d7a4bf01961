//! A rack PDU with switched outlets, as `fence_apc_snmp` knows APC's: SNMP on loopback, and an outlet that is turned off or has
//! no current takes the power from the machine behind it and from that machine's BMC.

mod ber;
mod snmp;

use std::{
    collections::BTreeMap,
    net::UdpSocket,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::Bmc;
use snmp::Table;

/// What its Secret has.
pub const COMMUNITY: &str = "labcommunity-5b1e";
/// Programs of the packages, each with its package.
const PROGRAMS: [(&str, &str); 2] = [("/usr/sbin/fence_apc_snmp", "fence-agents"), ("/usr/bin/snmpset", "snmp")];
/// Between two looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// sysObjectID.0 and what an AP7900 reports there; the state of an outlet and its control (PowerNet-MIB, rPDUOutlet…).
const SYS_OBJECT_ID: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 2, 0];
const RACK_PDU: &[u32] = &[1, 3, 6, 1, 4, 1, 318, 1, 3, 4, 5];
const STATE: &[u32] = &[1, 3, 6, 1, 4, 1, 318, 1, 1, 12, 3, 5, 1, 1, 4];
const CONTROL: &[u32] = &[1, 3, 6, 1, 4, 1, 318, 1, 1, 12, 3, 3, 1, 1, 4];
const ON: u8 = 1;
const OFF: u8 = 2;

/// The package that is missing, if one is.
#[must_use]
pub fn missing() -> Option<String> {
    let gone = PROGRAMS.iter().find(|(program, _)| !Path::new(program).exists());
    gone.map(|(program, package)| format!("{program} is missing: apt-get install {package}"))
}

/// Ends with this.
pub struct Pdu {
    pub port: u16,
    outlets: Arc<Mutex<Outlets>>,
    stop: Arc<AtomicBool>,
    agent: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Outlets {
    by_number: BTreeMap<u8, PduOutlet>,
}

struct PduOutlet {
    is_on: bool,
    /// The feed of the rack has current there. Nothing that SNMP shows.
    has_current: bool,
    machine: Arc<Bmc>,
}

impl PduOutlet {
    fn set(&mut self, is_on: bool, has_current: bool) {
        let (before, after) = (self.is_on && self.has_current, is_on && has_current);
        (self.is_on, self.has_current) = (is_on, has_current);
        if before != after {
            self.machine.supply(after);
        }
    }
}

impl Pdu {
    /// Without anything plugged in.
    ///
    /// # Errors
    /// What is missing.
    ///
    /// # Panics
    /// If nothing can listen on loopback.
    pub fn start() -> Result<Self, String> {
        missing().map_or(Ok(()), Err)?;
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(LOOK_EVERY)).unwrap();
        let port = socket.local_addr().unwrap().port();
        let (outlets, stop) = (Arc::<Mutex<Outlets>>::default(), Arc::<AtomicBool>::default());
        let (its_outlets, its_stop) = (Arc::clone(&outlets), Arc::clone(&stop));
        let agent = thread::spawn(move || serve(&socket, &its_outlets, &its_stop));
        Ok(Self { port, outlets, stop, agent: Some(agent) })
    }

    /// The machine's only supply is this outlet, which is on.
    pub fn plug_in(&self, outlet: u8, machine: &Arc<Bmc>) {
        let new = PduOutlet { is_on: true, has_current: true, machine: Arc::clone(machine) };
        lock(&self.outlets).by_number.insert(outlet, new);
    }

    /// The feed behind an outlet loses its current or has it again: the outlet stays as it is set.
    ///
    /// # Panics
    /// If nothing is plugged in there.
    pub fn feed(&self, outlet: u8, has_current: bool) {
        let mut outlets = lock(&self.outlets);
        let outlet = outlets.by_number.get_mut(&outlet).unwrap();
        outlet.set(outlet.is_on, has_current);
    }

    /// Whether the outlet is switched on.
    #[must_use]
    pub fn is_on(&self, outlet: u8) -> bool {
        lock(&self.outlets).by_number.get(&outlet).is_some_and(|outlet| outlet.is_on)
    }

    /// Options of `fence_apc_snmp` for an outlet, without the community.
    #[must_use]
    pub fn options(&self, outlet: u8) -> String {
        format!(
            "ip=127.0.0.1\nipport={}\nplug={outlet}\nsnmp_version=1\npower_timeout=5\nidentity=configured\n",
            self.port
        )
    }
}

impl Drop for Pdu {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(agent) = self.agent.take() {
            let _ = agent.join();
        }
    }
}

fn lock(outlets: &Mutex<Outlets>) -> MutexGuard<'_, Outlets> {
    outlets.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(socket: &UdpSocket, outlets: &Mutex<Outlets>, stop: &AtomicBool) {
    let mut request = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let Ok((length, client)) = socket.recv_from(&mut request) else { continue };
        if let Some(answer) = snmp::answer(&request[..length], COMMUNITY, &mut *lock(outlets)) {
            // A client that has gone asks again, or does not.
            let _ = socket.send_to(&answer, client);
        }
    }
}

impl Outlets {
    /// Every variable, in SNMP's order: by its numbers, which is that of its bytes while no number takes two.
    fn variables(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut all = vec![(ber::oid(SYS_OBJECT_ID), ber::element(ber::OID, &ber::oid(RACK_PDU)))];
        for column in [CONTROL, STATE] {
            all.extend(self.by_number.iter().map(|(number, outlet)| {
                let state = if outlet.is_on { ON } else { OFF };
                (ber::oid(&[column, &[u32::from(*number)]].concat()), ber::integer(state))
            }));
        }
        all
    }
}

impl Table for Outlets {
    fn value(&self, oid: &[u8]) -> Option<Vec<u8>> {
        self.variables().into_iter().find(|(of, _)| of == oid).map(|(_, value)| value)
    }

    fn next(&self, oid: &[u8]) -> Option<Vec<u8>> {
        self.variables().into_iter().map(|(of, _)| of).find(|of| of.as_slice() > oid)
    }

    fn set(&mut self, oid: &[u8], value: u8) -> bool {
        let number = oid.strip_prefix(ber::oid(CONTROL).as_slice());
        let outlet = number.and_then(|number| self.by_number.get_mut(number.first()?));
        match outlet.filter(|_| [ON, OFF].contains(&value)) {
            Some(outlet) => {
                outlet.set(value == ON, outlet.has_current);
                true
            }
            None => false,
        }
    }
}
