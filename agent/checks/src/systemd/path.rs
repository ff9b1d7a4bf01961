//! Where a unit's object lies: its name, escaped as systemd does it (`bus_label_escape`).

use std::fmt::Write;

const UNITS: &str = "/org/freedesktop/systemd1/unit/";

/// `kubelet.service` → `/org/freedesktop/systemd1/unit/kubelet_2eservice`. Asking the object loads the unit, if there is a
/// file for it.
pub(super) fn unit_path(name: &str) -> String {
    let mut path = UNITS.to_owned();
    if name.is_empty() {
        path.push('_');
    }
    for (at, byte) in name.bytes().enumerate() {
        if byte.is_ascii_alphabetic() || (at > 0 && byte.is_ascii_digit()) {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(path, "_{byte:02x}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_systemd_does_it() {
        let last = |name: &str| unit_path(name).strip_prefix(UNITS).unwrap().to_owned();
        assert_eq!(last("kubelet.service"), "kubelet_2eservice");
        assert_eq!(last("0-a@b_1.mount"), "_30_2da_40b_5f1_2emount");
        assert_eq!(last("é"), "_c3_a9");
        assert_eq!(last(""), "_");
    }
}
