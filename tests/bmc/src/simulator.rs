//! The files of OpenIPMI's `ipmi_sim` for one BMC, whose machine is turned on and off by a script.

use std::{ffi::OsString, fs, path::Path};

use nodewell_kit::write_program;

use crate::{Manner, PASSWORD, USER};

/// A BMC to be simulated. In its folder there is a program `machine.sh`: with `alive` it ends with 0 if the machine is
/// on, and with `0` or `1` it turns it off or on and ends when that is done.
#[derive(Debug, Clone, Copy)]
pub struct Simulator<'a> {
    pub folder: &'a Path,
    /// 32 hex digits, in the order they are sent.
    pub guid: &'a str,
    pub address: &'a str,
    pub port: u16,
    pub manner: Manner,
}

impl Simulator<'_> {
    /// Writes what `ipmi_sim` reads.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self) {
        let Self { folder, guid, address, port, manner } = *self;
        let here = folder.display();
        fs::create_dir(folder.join("state")).unwrap();
        fs::write(
            folder.join("bmc.emu"),
            "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nmc_enable 0x20\n",
        )
        .unwrap();
        let users = format!(
            "user 1 true \"\" \"test\" user 10 none md2 md5 straight\n  user 2 true \"{USER}\" \"{PASSWORD}\" admin 10 none md2 md5 straight"
        );
        let lan = format!(
            "name \"bmc\"\nset_working_mc 0x20\n  startlan 1\n    addr {address} {port}\n    priv_limit admin\n    \
             allowed_auths_callback none md2 md5 straight\n    allowed_auths_user none md2 md5 straight\n    \
             allowed_auths_operator none md2 md5 straight\n    allowed_auths_admin none md2 md5 straight\n    guid {guid}\n  \
             endlan\n  chassis_control \"{here}/chassis.sh 0x20\"\n  startnow false\n  {users}\n"
        );
        fs::write(folder.join("lan.conf"), lan).unwrap();
        let set = if manner == Manner::Obeys { "\"$D/machine.sh\" \"$2\"" } else { ":" };
        let text = CHASSIS.replace("@D@", &here.to_string()).replace("@SET@", set);
        write_program(&folder.join("chassis.sh"), 0o755, &text);
    }

    /// Its command line, for a folder in which it was written.
    #[must_use]
    pub fn argv(folder: &Path) -> Vec<OsString> {
        let file = |name: &str| folder.join(name).into_os_string();
        [
            "ipmi_sim".into(),
            "-n".into(),
            "-c".into(),
            file("lan.conf"),
            "-f".into(),
            file("bmc.emu"),
            "-s".into(),
            file("state"),
        ]
        .to_vec()
    }
}

/// `ipmi_sim` calls it: `chassis.sh MC get|set PARAMETER [VALUE]…`.
const CHASSIS: &str = r#"#!/bin/sh
D=@D@; op=$2; shift 2
echo "$(date +%s.%3N) $op $*" >> "$D/log"
case $op in
get) for what in "$@"; do case $what in
    power) if "$D/machine.sh" alive; then echo power:1; else echo power:0; fi;;
    boot) echo boot:default;;
    esac; done;;
set) while [ $# -gt 0 ]; do case $1 in power) @SET@;; esac; shift 2; done;;
esac
exit 0
"#;
