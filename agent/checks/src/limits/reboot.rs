//! Whether a reboot is due: packages ask for it (Debian, Ubuntu), or a newer kernel was installed than the one that
//! runs.

use std::{
    collections::BTreeSet,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::probe::{Roots, attribute};
use nodewell_model::text;

use super::{host, kernel, reading::Reboot};

/// For people; more of them add nothing.
const PACKAGES_LIMIT: usize = 20;

/// `None` if nothing asks for it.
pub(super) fn read(roots: &Roots) -> Option<Reboot> {
    let root = host(roots);
    // /var/run is a link to /run but for old systems.
    let asked = ["run", "var/run"].iter().find(|folder| root.join(folder).join("reboot-required").exists());
    let packages = asked.map(|folder| packages(&root.join(folder).join("reboot-required.pkgs"))).unwrap_or_default();
    let kernel = newer_kernel(roots, root);
    (asked.is_some() || kernel.is_some()).then_some(Reboot { packages, kernel })
}

/// Each once: every upgrade adds its name again.
fn packages(path: &Path) -> Vec<String> {
    let listed = attribute::text(path).ok().flatten().unwrap_or_default();
    let names: BTreeSet<String> = listed.lines().map(|line| text::subject(line.trim().as_bytes())).collect();
    names.into_iter().filter(|name| !name.is_empty()).take(PACKAGES_LIMIT).collect()
}

/// The newest kernel of the same flavour that came after this boot. One that was there before was not chosen at the
/// boot: the operator wants it so.
fn newer_kernel(roots: &Roots, root: &Path) -> Option<String> {
    let running = attribute::text(&roots.proc.join("sys/kernel/osrelease")).ok().flatten()?;
    let modules = root.join("lib/modules");
    // Modules of another root, of a container for example, or of a kernel that has none, show nothing.
    if !modules.join(&running).is_dir() {
        return None;
    }
    let names = modules.read_dir().ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let newer: Vec<String> = names.filter(|name| is_newer(name, &running) && image(root, name).is_some()).collect();
    if newer.is_empty() {
        return None;
    }
    // It is long where there are many interrupts: it is read only now.
    let booted = kernel::value(&attribute::text(&roots.proc.join("stat")).ok()??, "btime")?;
    let came_later = |name: &String| image(root, name).is_some_and(|changed| changed > booted.cast_signed());
    newer.into_iter().filter(came_later).max_by_key(|name| numbers(name))
}

/// When the kernel's image was put there. Its time of modification is that of the build.
fn image(root: &Path, release: &str) -> Option<i64> {
    let paths: [PathBuf; 2] =
        [root.join(format!("boot/vmlinuz-{release}")), root.join("lib/modules").join(release).join("vmlinuz")];
    paths.iter().find_map(|path| path.metadata().ok()).map(|image| image.ctime())
}

/// Of the same flavour (`cloud-amd64`, `generic`, `rt`) and a higher version.
pub(super) fn is_newer(release: &str, than: &str) -> bool {
    flavour(release) == flavour(than) && numbers(release) > numbers(than)
}

fn parts(release: &str) -> impl DoubleEndedIterator<Item = &str> {
    release.split(['.', '-', '+', '~']).filter(|part| !part.is_empty())
}

fn numbers(release: &str) -> Vec<u64> {
    parts(release).filter_map(|part| part.parse().ok()).collect()
}

/// The words in it. `el9_4` is none: it changes with every minor release.
fn flavour(release: &str) -> (Vec<&str>, Option<&str>) {
    let words = parts(release).filter(|part| part.bytes().all(|byte| byte.is_ascii_alphabetic()));
    (words.collect(), parts(release).next_back().filter(|last| last.parse::<u64>().is_err()))
}

#[cfg(test)]
mod tests;
