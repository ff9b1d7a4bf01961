//! A line that shows a reason of the tables, for tests of the way from the kernel log to the condition.

use nodewell_model::Name;

use super::{Decoder, RECOVERY, Tables};

/// The subject of such lines: the host bridge, which is never a GPU.
const NO_DEVICE: &str = "0000:00:00.0";

impl Tables {
    /// The worst line that shows `reason`; `None` if no line of this decoder does.
    #[must_use]
    pub fn example(&self, decoder: Decoder, reason: &Name) -> Option<String> {
        let meaning = self.named(reason.as_str()).filter(|_| decoder.gives(reason))?;
        let code = meaning.code;
        Some(match decoder {
            Decoder::Xid if code == RECOVERY => {
                format!(
                    "NVRM: Xid (PCI:{NO_DEVICE}): {code}, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
                )
            }
            Decoder::Xid if meaning.fatal.is_some() => {
                format!("NVRM: Xid (PCI:{NO_DEVICE}): {code}, UNIT Fatal XC0 i0 Link 00 (0x00000000 0x00000000)")
            }
            Decoder::Xid => format!("NVRM: Xid (PCI:{NO_DEVICE}): {code}, a test"),
            Decoder::Sxid => format!("nvidia-nvswitch0: SXid (PCI:{NO_DEVICE}): {code}, Fatal, Link 00 a test"),
        })
    }
}
