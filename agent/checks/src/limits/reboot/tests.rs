//! What asks for a reboot, and what only looks so.

use std::fs;

use super::*;

struct Host(tempfile::TempDir);

impl Host {
    /// Runs 6.1.0-18-amd64 and booted at that time.
    fn new(booted: i64) -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        host.put("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
        host.put("proc/stat", &format!("cpu 1 2\nintr 9 9\nbtime {booted}\nprocesses 3\n"));
        host.install("6.1.0-18-amd64");
        host
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn install(&self, release: &str) {
        self.put(&format!("lib/modules/{release}/modules.dep"), "");
        self.put(&format!("boot/vmlinuz-{release}"), "");
    }

    fn read(&self) -> Option<Reboot> {
        read(&Roots { proc: self.0.path().join("proc"), ..Roots::default() })
    }

    fn kernel(&self) -> Option<String> {
        self.read()?.kernel
    }
}

const LONG_AGO: i64 = 1_000_000_000;
const NOT_YET: i64 = 10_000_000_000;

#[test]
fn packages_ask_by_a_file() {
    let host = Host::new(LONG_AGO);
    assert_eq!(host.read(), None);
    host.put("run/reboot-required", "*** System restart required ***\n");
    assert_eq!(host.read(), Some(Reboot::default()));
    host.put("run/reboot-required.pkgs", "libc6\nlinux-base\n\nlibc6\n");
    assert_eq!(host.read().unwrap().packages, ["libc6", "linux-base"]);
}

#[test]
fn a_newer_kernel_counts_if_it_came_after_the_boot() {
    let host = Host::new(LONG_AGO);
    host.install("6.1.0-17-amd64");
    assert_eq!(host.kernel(), None);
    host.install("6.1.0-21-amd64");
    host.install("6.1.0-9-amd64");
    host.put("lib/modules/6.12.0-1-amd64/modules.dep", "no image");
    host.put("lib/modules/6.12.0-1-cloud-amd64/vmlinuz", "another flavour");
    assert_eq!(host.kernel().as_deref(), Some("6.1.0-21-amd64"));
    host.put("proc/stat", &format!("btime {NOT_YET}\n"));
    assert_eq!(host.kernel(), None, "it was there at the boot, and was not chosen");
}

#[test]
fn without_modules_of_the_running_kernel_nothing_is_reported() {
    let host = Host::new(LONG_AGO);
    host.install("6.1.0-21-amd64");
    host.put("proc/sys/kernel/osrelease", "6.18.5\n");
    assert_eq!(host.kernel(), None);
}

#[test]
fn releases_are_compared_by_number_and_flavour() {
    for (release, than, expected) in [
        ("5.14.0-427.40.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4.x86_64", true),
        ("5.14.0-503.el9_5.x86_64", "5.14.0-427.13.1.el9_4.x86_64", true),
        ("6.8.0-100-generic", "6.8.0-99-generic", true),
        ("6.8.0-100-aws", "6.8.0-99-generic", false),
        ("6.1.0-21-rt-amd64", "6.1.0-18-amd64", false),
        ("6.1.0-18-amd64", "6.1.0-18-amd64", false),
        ("6.18.5", "6.18.4", true),
        ("", "6.18.4", false),
    ] {
        assert_eq!(is_newer(release, than), expected, "{release}");
    }
}
