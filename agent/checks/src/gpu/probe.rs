//! What NVML knows of one GPU. Nothing of it is supported everywhere: what is not, is left out.

use nodewell_sys::nvml;
use nvml_wrapper::{
    Device,
    enum_wrappers::device::{EccCounter, MemoryError},
    enums::device::SampleValue,
    error::NvmlError,
    structs::device::FieldId,
    sys_exports::field_id::{
        NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, NVML_FI_DEV_REMAPPED_FAILURE, NVML_FI_DEV_REMAPPED_PENDING,
        NVML_FI_DEV_RETIRED_DBE, NVML_FI_DEV_RETIRED_SBE,
    },
};

use super::reading::{Access, Ecc, FabricState, GpuReading, Identity, Mig, Remap, Retired, Vendor};

/// Twice `NVML_NVLINK_MAX_LINKS` of the drivers of 2025: the first number that is no link's ends the search.
const MOST_LINKS: u32 = 36;

/// `NVML_GPU_FABRIC_STATE_NOT_SUPPORTED`
const NO_FABRIC: u8 = 0;

/// Asks one GPU, and remembers if it reports in between that it is lost.
struct Questions<'a, 'nvml> {
    device: &'a Device<'nvml>,
    access: Access,
}

/// Everything that is judged. A GPU that is lost on the way shows so in `access`.
pub(super) fn gpu(device: &Device<'_>) -> GpuReading {
    let mut ask = Questions { device, access: Access::Answers };
    let fields = ask.fields();
    GpuReading {
        vendor: Vendor::Nvidia,
        identity: ask.identity(),
        ecc: ask.ecc(),
        remap: fields.remap(),
        retired: ask.retired(&fields),
        slowdown: ask.known(Device::current_throttle_reasons).map(|bits| bits.bits()),
        links: ask.links(),
        fabric: ask.fabric(),
        mig: ask.known(Device::mig_mode).map(|mig| Mig { current: mig.current, pending: mig.pending }),
        persistence: ask.known(Device::is_in_persistent_mode),
        recovery: fields.recovery,
        energy_millijoules: ask.known(Device::total_energy_consumption),
        access: ask.access,
        ..GpuReading::default()
    }
}

impl<'nvml> Questions<'_, 'nvml> {
    fn known<T>(&mut self, question: impl FnOnce(&Device<'nvml>) -> Result<T, NvmlError>) -> Option<T> {
        match question(self.device) {
            Ok(value) => Some(value),
            Err(error) => {
                self.note_error(&error);
                None
            }
        }
    }

    /// Of a question about one part only these two are about the whole GPU: another, such as that nothing was found, is
    /// about the part.
    fn note_error(&mut self, error: &NvmlError) {
        if let NvmlError::GpuLost | NvmlError::ResetRequired = error {
            self.access = access_of(error).unwrap_or(self.access);
        }
    }

    fn identity(&mut self) -> Identity {
        let (name, uuid) = (self.known(Device::name), self.known(Device::uuid));
        let (serial, vbios) = (self.known(Device::serial), self.known(Device::vbios_version));
        Identity { name, uuid, serial, vbios }
    }

    fn ecc(&mut self) -> Option<Ecc> {
        let mut count = |error, counter| self.known(|device| device.total_ecc_errors(error, counter));
        let ecc = Ecc {
            corrected: count(MemoryError::Corrected, EccCounter::Volatile),
            uncorrected: count(MemoryError::Uncorrected, EccCounter::Volatile),
            corrected_ever: count(MemoryError::Corrected, EccCounter::Aggregate),
            uncorrected_ever: count(MemoryError::Uncorrected, EccCounter::Aggregate),
        };
        (ecc != Ecc::default()).then_some(ecc)
    }

    fn retired(&mut self, fields: &Fields) -> Option<Retired> {
        let pending = self.known(Device::are_pages_pending_retired);
        let pages = fields.retired_pages();
        (pending.is_some() || pages.is_some()).then(|| Retired { pages, pending: pending.unwrap_or(false) })
    }

    fn links(&mut self) -> Vec<Option<bool>> {
        let device = self.device;
        links(|link| device.link_wrapper_for(link).is_active(), |error| self.note_error(error))
    }

    fn fabric(&mut self) -> Option<FabricState> {
        let fabric = self.known(nvml::fabric)?;
        let state = FabricState { state: fabric.state, status: fabric.status, health_mask: fabric.health_mask };
        (fabric.state != NO_FABRIC).then_some(state)
    }

    fn fields(&mut self) -> Fields {
        let ids = Fields::IDS.map(FieldId);
        let samples = self.known(|device| device.field_values_for(&ids)).unwrap_or_default();
        let mut values = samples.into_iter().map(|sample| sample.ok().and_then(|sample| number(&sample.value.ok()?)));
        let mut next = || values.next().flatten();
        Fields { remap: [next(), next()], retired: [next(), next()], recovery: next() }
    }
}

/// The links in turn, up to the first number that is none. One of unknown state is not down.
fn links(
    is_active: impl Fn(u32) -> Result<bool, NvmlError>,
    mut note_error: impl FnMut(&NvmlError),
) -> Vec<Option<bool>> {
    let mut links = Vec::new();
    for link in 0..MOST_LINKS {
        let state = is_active(link);
        if matches!(state, Err(NvmlError::InvalidArg)) {
            break;
        }
        links.push(state.inspect_err(&mut note_error).ok());
    }
    let known_links = links.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    links.truncate(known_links);
    links
}

/// Values that have no call of their own in every driver.
struct Fields {
    /// Pending, failed.
    remap: [Option<u64>; 2],
    /// For single-bit and for double-bit errors.
    retired: [Option<u64>; 2],
    recovery: Option<u64>,
}

impl Fields {
    const IDS: [u32; 5] = [
        NVML_FI_DEV_REMAPPED_PENDING,
        NVML_FI_DEV_REMAPPED_FAILURE,
        NVML_FI_DEV_RETIRED_SBE,
        NVML_FI_DEV_RETIRED_DBE,
        NVML_FI_DEV_GET_GPU_RECOVERY_ACTION,
    ];

    fn remap(&self) -> Option<Remap> {
        let [pending, failed] = self.remap;
        Some(Remap { pending: pending? != 0, failed: failed? != 0 })
    }

    fn retired_pages(&self) -> Option<u64> {
        let [single, double] = self.retired;
        Some(single?.saturating_add(double?))
    }
}

fn number(value: &SampleValue) -> Option<u64> {
    match *value {
        SampleValue::U32(number) => Some(number.into()),
        SampleValue::U64(number) => Some(number),
        SampleValue::I64(number) => u64::try_from(number).ok(),
        SampleValue::F64(_) => None,
    }
}

/// What the error of looking a GPU up shows of it; nothing, if it is about the question.
pub(super) fn access_of(error: &NvmlError) -> Option<Access> {
    match error {
        NvmlError::GpuLost => Some(Access::Lost),
        NvmlError::ResetRequired => Some(Access::ResetRequired),
        NvmlError::NotFound => Some(Access::Unlisted),
        NvmlError::InsufficientPower => Some(Access::NoPower),
        NvmlError::IrqIssue => Some(Access::NoInterrupts),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_unknown_state_does_not_hide_those_after_it() {
        let is_active = |link| match link {
            0 | 3 => Ok(true),
            1 => Err(NvmlError::NotSupported),
            2 => Ok(false),
            4 => Err(NvmlError::Unknown),
            _ => Err(NvmlError::InvalidArg),
        };
        let mut note_error = Vec::new();
        let links = links(is_active, |error| note_error.push(error.to_string()));
        assert_eq!(links, [Some(true), None, Some(false), Some(true)]);
        assert_eq!(note_error.len(), 2);
    }

    #[test]
    fn a_gpu_without_links_has_none() {
        assert_eq!(links(|_| Err(NvmlError::NotSupported), |_| ()), []);
        assert_eq!(links(|_| Err(NvmlError::InvalidArg), |_| ()), []);
    }
}
