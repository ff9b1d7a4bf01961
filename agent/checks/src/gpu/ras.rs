//! AMD GPUs: the error counters of amdgpu for each block (`Documentation/gpu/amdgpu/ras.rst`), and the files by which
//! programs open a GPU.

use std::{fs, path::Path};

use super::{bus, reading::Ecc};
use crate::probe::{Roots, device_file};

/// What one file contains: `ue: 0` and `ce: 0`, on newer kernels `de: 0` below (`amdgpu_ras_sysfs_read`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) uncorrected: u64,
    pub(super) corrected: u64,
}

/// Whether the GPU counts errors at all: most of those in laptops do not.
pub(super) fn is_counted(sys: &Path, address: &str) -> bool {
    bus::device(sys, address).join("ras").is_dir()
}

/// The sum over all blocks since the driver was loaded; `None` if no file could be read.
pub(super) fn read(sys: &Path, address: &str) -> Option<Ecc> {
    let entries = fs::read_dir(bus::device(sys, address).join("ras")).ok()?.flatten();
    let files = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with("_err_count"));
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let total = texts.filter_map(|text| parse(&text)).reduce(Counts::plus)?;
    Some(Ecc { corrected: Some(total.corrected), uncorrected: Some(total.uncorrected), ..Ecc::default() })
}

/// The number of its VBIOS, which the driver read at its start (`vbios_version`, amdgpu_atombios.c).
pub(super) fn vbios(sys: &Path, address: &str) -> Option<String> {
    let text = fs::read_to_string(bus::device(sys, address).join("vbios_version")).ok()?;
    Some(text.trim().to_owned()).filter(|version| !version.is_empty())
}

/// A file of the GPU that is missing: that of compute, which all GPUs share (drivers/gpu/drm/amd/amdkfd/kfd_chardev.c),
/// or the one for rendering, which compute opens, too.
pub(super) fn missing_file(roots: &Roots, address: &str) -> Option<String> {
    let folder = bus::device(&roots.sys, address).join("drm");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let render = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("renderD"));
    let compute = roots.sys.join("class/kfd/kfd");
    let mut devices = [compute].into_iter().chain(render.map(|entry| entry.path()));
    devices.find_map(|device| device_file::missing(roots, &device))
}

/// Reads one file. The file of a block that is switched off contains something else.
#[must_use]
pub(super) fn parse(text: &str) -> Option<Counts> {
    let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(Counts { uncorrected: count("ue:")?, corrected: count("ce:")? })
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            uncorrected: self.uncorrected.saturating_add(other.uncorrected),
            corrected: self.corrected.saturating_add(other.corrected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read_and_others_are_not() {
        let counts = |uncorrected, corrected| Some(Counts { uncorrected, corrected });
        for (text, expected) in [
            ("ue: 0\nce: 3\n", counts(0, 3)),
            ("ue: 18446744073709551615\nce: 1\nde: 7\n", counts(u64::MAX, 1)),
            ("Query currently inaccessible\n", None),
            ("ue: -1\nce: 0\n", None),
            ("ue: 1\n", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text:?}");
        }
        assert_eq!(Counts::plus(counts(u64::MAX, 1).unwrap(), counts(1, 1).unwrap()), counts(u64::MAX, 2).unwrap());
    }
}
