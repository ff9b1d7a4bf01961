//! The script: what the library reports, in lines.
//!
//! ```text
//! driver 580.65.06                      versions; those of 2025 if not said
//! library 580.65.06
//! gpu 0000:05:00.0 name=H100 ecc=0,0,0,0   one for each GPU, in the order of their indices
//! fail nvmlDeviceGetMigMode 3 [ADDRESS]    a call's return code; `all` for every call about a device
//! hang nvmlDeviceGetTotalEccErrors [ADDRESS]   that call does not return while this line stands
//! event 0000:05:00.0 79 [TIMES]            an Xid, for who waits; lines are appended as things happen
//! ```
//! A GPU's values are in [`Gpu`]; what is not set for a GPU, it does not support.

use std::{
    collections::BTreeMap,
    ffi::CStr,
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::answer::{Code, SUCCESS};

/// Number, time and size of the file; `None` if there is none. Scripts are replaced by renaming.
type Look = Option<(u64, i64, u64)>;

/// What is in the file now.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) driver: String,
    pub(crate) library: String,
    pub(crate) gpus: Vec<Gpu>,
    fails: Vec<(CallMatch, Code)>,
    hangs: Vec<CallMatch>,
    /// Each with how often it happened.
    pub(crate) events: Vec<(String, u64, usize)>,
}

/// One GPU and its values: `name`, `uuid`, `serial`, `vbios`, `ecc` (corrected and uncorrected since the reset, then of its
/// life), `energy` (mJ), `slowdown` (bits, hexadecimal), `retire-pending`, `links` (`110`: the third is down), `fabric` (state,
/// status, health mask, summary), `mig` (now, next), `persistence`, `field-N`, `no-events`.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) address: String,
    values: BTreeMap<String, String>,
}

/// A call, about one device or any.
#[derive(Debug)]
struct CallMatch {
    call: String,
    address: Option<String>,
}

impl Script {
    /// What is in the file now; without one there are no GPUs. A file that is as it was is not read again: waiting for
    /// events looks at it a hundred times a second.
    pub(crate) fn read() -> Arc<Self> {
        static LAST: Mutex<Option<(Look, Arc<Script>)>> = Mutex::new(None);
        let path = path();
        let look =
            path.as_ref().and_then(|path| fs::metadata(path).ok()).map(|it| (it.ino(), it.mtime_nsec(), it.len()));
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, script)) if *known == look => Arc::clone(script),
            _ => {
                let text = path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
                let (_, script) = last.insert((look, Arc::new(Self::parse(&text))));
                Arc::clone(script)
            }
        }
    }

    fn parse(text: &str) -> Self {
        let mut script = Self { driver: "580.65.06".into(), library: "580.65.06".into(), ..Self::default() };
        for line in text.lines() {
            script.take(&line.split_whitespace().collect::<Vec<_>>());
        }
        script
    }

    fn take(&mut self, words: &[&str]) {
        match words {
            ["driver", version] => self.driver = (*version).to_owned(),
            ["library", version] => self.library = (*version).to_owned(),
            ["gpu", address, values @ ..] => self.gpus.push(Gpu::new(address, values)),
            ["fail", call, code, address @ ..] => {
                self.fails.push((CallMatch::new(call, address), code.parse().unwrap_or(SUCCESS)));
            }
            ["hang", call, address @ ..] => self.hangs.push(CallMatch::new(call, address)),
            ["event", address, xid, times @ ..] => {
                let times = times.first().and_then(|times| times.parse().ok()).unwrap_or(1);
                self.events.push(((*address).to_owned(), xid.parse().unwrap_or(0), times));
            }
            _ => {}
        }
    }

    pub(crate) fn gpu(&self, address: &str) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.address == address)
    }

    pub(crate) fn failure(&self, call: &str, address: Option<&str>) -> Option<Code> {
        self.fails.iter().find(|(one, _)| one.is_at(call, address)).map(|(_, code)| *code)
    }

    pub(crate) fn hangs(&self, call: &str, address: Option<&str>) -> bool {
        self.hangs.iter().any(|one| one.is_at(call, address))
    }
}

impl Gpu {
    fn new(address: &str, values: &[&str]) -> Self {
        let pairs = values.iter().map(|value| value.split_once('=').unwrap_or((value, "")));
        let values = pairs.map(|(key, value)| (key.to_owned(), value.replace('_', " "))).collect();
        Self { address: address.to_owned(), values }
    }

    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// The `part`th of numbers with commas between them; the last ones may be left out and are 0.
    pub(crate) fn number(&self, key: &str, part: usize) -> Option<u64> {
        let text = self.value(key)?.split(',').nth(part).unwrap_or("0");
        match text.strip_prefix("0x") {
            Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
            None => text.parse().ok(),
        }
    }
}

impl CallMatch {
    fn new(call: &str, address: &[&str]) -> Self {
        Self { call: call.to_owned(), address: address.first().map(|&address| address.to_owned()) }
    }

    fn is_at(&self, call: &str, address: Option<&str>) -> bool {
        let call_fits = self.call == call || (self.call == "all" && address.is_some());
        call_fits && self.address.as_deref().is_none_or(|wanted| Some(wanted) == address)
    }
}

fn path() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("NODEWELL_FAKE_NVML") {
        return Some(named.into());
    }
    let mut own = own_path()?.into_os_string();
    own.push(".script");
    Some(own.into())
}

/// Where the linker found this very copy.
fn own_path() -> Option<PathBuf> {
    let own: fn() -> Option<PathBuf> = own_path;
    // SAFETY: Dl_info is plain pointers, for which zero is a value; dladdr fills it or returns 0.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for, and `found` is ours.
    let known = unsafe { libc::dladdr(own as *const libc::c_void, &raw mut found) };
    if known == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr's names are C strings that live as long as the object is loaded, which runs this.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(name.to_str().ok()?))
}
