//! What reading a board's tables promises, whatever stands in them.

use super::dmi;

/// Memory modules, and whether the board is a virtual machine's.
pub(crate) fn tables(bytes: &[u8]) {
    let _ = dmi::is_virtual(bytes);
    let modules = dmi::modules(bytes).unwrap_or_default();
    // A structure has four bytes, and two that end its strings.
    assert!(modules.len() <= bytes.len() / 6);
    for module in modules {
        assert!(module.amount > 0, "an empty slot is a module");
        for word in [&module.slot, &module.model, &module.serial] {
            assert!(word.len() <= 64 && !word.contains('\n'), "{word:?}");
        }
    }
}
