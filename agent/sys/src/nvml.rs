//! What nvml-wrapper has no safe door for: a set of events that is kept between calls, and the state of the fabric.
#![allow(unsafe_code)]

use std::{ffi::c_uint, mem, rc::Rc, time::Duration};

use nvml_wrapper::{
    Device, EventSet, Nvml,
    bitmasks::event::EventTypes,
    enums::event::XidError,
    error::{NvmlError, nvml_try},
};

/// Xids of the devices that are watched.
#[derive(Debug)]
pub struct Events {
    // Before `nvml`, which it borrows: fields are dropped in their order.
    set: EventSet<'static>,
    /// By handle: a device that is lost does not report its address any more.
    watched: Vec<(usize, String)>,
    nvml: Rc<Nvml>,
}

/// An Xid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XidEvent {
    /// As given to [`Events::watch`].
    pub device: String,
    /// Zero if the driver does not report which.
    pub xid: u64,
}

/// How a GPU stands to its fabric (`nvmlGpuFabricInfoV_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fabric {
    /// `NVML_GPU_FABRIC_STATE_*`
    pub state: u8,
    /// `nvmlReturn_t` of the registration, once it is completed.
    pub status: u32,
    /// `NVML_GPU_FABRIC_HEALTH_MASK_*`
    pub health_mask: u32,
}

impl Events {
    /// A set that watches no device yet.
    pub fn open(nvml: &Rc<Nvml>) -> Result<Self, NvmlError> {
        if let Err(error) = &nvml.lib().nvmlEventSetFree {
            // nvml-wrapper panics where it cannot free a set.
            return Err(NvmlError::FailedToLoadSymbol(error.to_string()));
        }
        let set = nvml.create_event_set()?;
        // SAFETY: the set borrows the Nvml in the Rc's allocation, which does not move and lives as long as `nvml` below;
        // and no borrow of the longer lifetime leaves this module.
        let set = unsafe { mem::transmute::<EventSet<'_>, EventSet<'static>>(set) };
        Ok(Self { set, watched: Vec::new(), nvml: Rc::clone(nvml) })
    }

    /// Watches one more device, which is called `name`. A failure leaves the others watched.
    pub fn watch(&mut self, device: &Device<'_>, name: &str) -> Result<(), NvmlError> {
        if !device.supported_event_types()?.contains(EventTypes::CRITICAL_XID_ERROR) {
            return Err(NvmlError::NotSupported);
        }
        let register = symbol(&self.nvml.lib().nvmlDeviceRegisterEvents)?;
        // SAFETY: both handles come from this library and are alive; nvml-wrapper's own call gives the whole set up when
        // one device fails.
        unsafe { nvml_try(register(device.handle(), EventTypes::CRITICAL_XID_ERROR.bits(), self.set.handle()))? };
        self.watched.push((handle(device), name.to_owned()));
        Ok(())
    }

    /// Whether no device is watched.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.watched.is_empty()
    }

    /// The next Xid, if one comes in time.
    pub fn wait(&self, within: Duration) -> Result<Option<XidEvent>, NvmlError> {
        let millis = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
        let event = match self.set.wait(millis) {
            Ok(event) => event,
            Err(NvmlError::Timeout) => return Ok(None),
            Err(error) => return Err(error),
        };
        let asked = handle(&event.device);
        let device = self.watched.iter().find(|(known, _)| *known == asked).map(|(_, name)| name.clone());
        let xid = match event.event_data {
            Some(XidError::Value(xid)) => xid,
            Some(XidError::Unknown) | None => 0,
        };
        Ok(device.map(|device| XidEvent { device, xid }))
    }
}

/// `nvmlGpuFabricInfo_v3_t`; the second version is the same without the last field.
#[repr(C)]
struct FabricInfo {
    version: c_uint,
    cluster_uuid: [u8; 16],
    status: c_uint,
    clique: c_uint,
    state: u8,
    health_mask: c_uint,
    health_summary: u8,
}

/// `NVML_STRUCT_VERSION`: the size, and the number above it.
const FABRIC_VERSIONS: [c_uint; 2] = [3 << 24 | 40, 2 << 24 | 36];

/// How a GPU stands to its fabric, by the newest version of the question that the driver knows.
pub fn fabric(device: &Device<'_>) -> Result<Fabric, NvmlError> {
    let ask = symbol(&device.nvml().lib().nvmlDeviceGetGpuFabricInfoV)?;
    let mut failure = NvmlError::NotSupported;
    for version in FABRIC_VERSIONS {
        let mut info = FabricInfo {
            version,
            cluster_uuid: [0; 16],
            status: 0,
            clique: 0,
            state: 0,
            health_mask: 0,
            health_summary: 0,
        };
        // SAFETY: the handle is alive; the place is as large as the newest version, and the driver writes no more than
        // the size in its number.
        match unsafe { nvml_try(ask(device.handle(), (&raw mut info).cast())) } {
            Ok(()) => return Ok(Fabric { state: info.state, status: info.status, health_mask: info.health_mask }),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// A number that is the same for the same device.
fn handle(device: &Device<'_>) -> usize {
    // SAFETY: the pointer is only compared.
    unsafe { device.handle() }.addr()
}

fn symbol<F: Copy, E: ToString>(loaded: &Result<F, E>) -> Result<F, NvmlError> {
    match loaded {
        Ok(function) => Ok(*function),
        Err(error) => Err(NvmlError::FailedToLoadSymbol(error.to_string())),
    }
}
