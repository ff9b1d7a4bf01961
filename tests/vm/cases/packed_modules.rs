//! Kernels of other releases: an image and modules are unpacked whatever has packed them, and a module that a kernel
//! has nowhere is an error with its name.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    modules::{Index, Module},
    packed::{kernel_of, unpack_modules},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("packed_modules")
        .case_with(&[Need::Other(packers_unmet)], "each_is_unpacked_in_its_place", each_is_unpacked_in_its_place)
        .case_with(&[Need::Other(packers_unmet)], "a_broken_one_is_named", a_broken_one_is_named)
        .case_with(&[Need::Other(packers_unmet)], "an_image_is_found_by_its_header", an_image_is_found_by_its_header)
        .case("one_that_is_nowhere_is_named", one_that_is_nowhere_is_named);
}

/// Each with the ending of its files.
const PACKERS: [(&str, &str); 3] = [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")];
const MODULE: &[u8] = b"\x7fELF what would be a module";

fn packers_unmet() -> Option<String> {
    let is_here = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let missing = PACKERS.into_iter().find(|(program, _)| !is_here(program));
    missing.map(|(program, _)| format!("needs {program}"))
}

fn packed(program: &str, bytes: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, bytes).unwrap();
    let Output { status, stdout, .. } = Command::new(program).args(["-q", "-c"]).arg(&file).output().unwrap();
    assert!(status.success() && stdout != bytes, "{program}");
    stdout
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn each_is_unpacked_in_its_place() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("kernel/drivers/block");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("plain.ko"), MODULE).unwrap();
    fs::write(folder.join("readme.xz"), "no module, and nothing that xz has packed").unwrap();
    for (program, ending) in PACKERS {
        fs::write(folder.join(format!("{program}.ko.{ending}")), packed(program, MODULE)).unwrap();
    }
    unpack_modules(root.path()).unwrap();
    assert_eq!(names(&folder), ["gzip.ko", "plain.ko", "readme.xz", "xz.ko", "zstd.ko"]);
    for (program, _) in PACKERS {
        assert_eq!(fs::read(folder.join(format!("{program}.ko"))).unwrap(), MODULE, "{program}");
    }
}

fn a_broken_one_is_named() {
    for (program, ending) in PACKERS {
        let root = tempfile::tempdir().unwrap();
        let name = format!("broken.ko.{ending}");
        let mut bytes = packed(program, MODULE);
        bytes.truncate(bytes.len() - 6);
        fs::write(root.path().join(&name), bytes).unwrap();
        let error = unpack_modules(root.path()).unwrap_err();
        assert!(error.contains(&name) && error.contains(program), "{error}");
    }
}

/// A loader of two sectors, then `before` bytes that are not the payload's.
fn image(payload: &[u8], before: u32) -> Vec<u8> {
    let mut bytes = vec![0; 3 * 512 + usize::try_from(before).unwrap()];
    bytes[0x1f1] = 2;
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x248..0x24c].copy_from_slice(&before.to_le_bytes());
    bytes[0x24c..0x250].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
    [bytes.as_slice(), payload, b"a signature"].concat()
}

fn an_image_is_found_by_its_header() {
    let length = u32::try_from(MODULE.len()).unwrap().to_le_bytes();
    for (program, _) in PACKERS {
        let mut payload = packed(program, MODULE);
        if program != "gzip" {
            payload.extend(length);
        }
        assert_eq!(kernel_of(&image(&payload, 700)).unwrap(), MODULE, "{program}");
        payload.truncate(payload.len() - 9);
        assert!(kernel_of(&image(&payload, 700)).is_err(), "{program}: cut short");
    }
    let other = [packed("xz", MODULE), vec![1, 0, 0, 0]].concat();
    let error = kernel_of(&image(&other, 0)).unwrap_err();
    assert!(error.contains(&format!("{} bytes", MODULE.len())) && error.contains("its own word 1"), "{error}");
    let script = [packed("xz", b"#!/bin/sh"), vec![9, 0, 0, 0]].concat();
    assert!(kernel_of(&image(&script, 0)).unwrap_err().contains("no ELF file"));
    assert!(kernel_of(&image(b"LZ4 is not among them", 0)).unwrap_err().contains("neither xz, zstd nor gzip"));
    assert!(kernel_of(&[0; 4096]).unwrap_err().contains("no bzImage"));
}

fn one_that_is_nowhere_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("modules.dep", "kernel/host/nvme.ko: kernel/host/nvme-core.ko\nkernel/host/nvme-core.ko:\n");
    let error = Index::read(folder.path()).unwrap_err();
    assert!(error.contains("modules.builtin"), "{error}");
    write("modules.builtin", "kernel/drivers/block/virtio_blk.ko\n");
    let index = Index::read(folder.path()).unwrap();
    let Module::File { path, needs } = index.find("nvme") else { panic!("{index:?}") };
    assert_eq!((path, needs.trim()), ("kernel/host/nvme.ko", "kernel/host/nvme-core.ko"));
    assert!(matches!(index.find("nvme_core"), Module::File { .. }));
    assert_eq!(index.find("virtio-blk"), Module::BuiltIn);
    assert_eq!((index.find("core"), index.find("nvme-c")), (Module::Nowhere, Module::Nowhere));
    index.has_all(["nvme", "nvme-core", "virtio_blk"]).unwrap();
    let error = index.has_all(["nvme", "dm-thin-pool", "virtio_blk", "raid1"]).unwrap_err();
    assert!(error.starts_with("dm-thin-pool, raid1: neither"), "{error}");
}
