//! Lines of NVIDIA's drivers and of the fabric manager, and an operator's own tables for them.

use std::path::Path;

use nodewell_faults::{Branch, Decoder, Host, Tables, pci};
use nodewell_model::FindingKind;

/// The first byte chooses the driver's branch. What a line decodes to is always sound, and every error in an operator's
/// table has a message.
pub fn faults(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let branch = [None, Some(Branch(570)), Some(Branch(580))][usize::from(*choice) % 3];
    let text = String::from_utf8_lossy(text);
    for line in text.split('\n') {
        let branch = Branch::of_loading_line(line).or(branch);
        decode(&Tables::shipped(), line, branch);
    }
    match Tables::merged(&text, Path::new("xids.toml")) {
        Ok(tables) => decode(&tables, "NVRM: Xid (PCI:0000:05:00): 79, gone", branch),
        Err(error) => assert!(error.diagnostics().iter().all(|found| !found.message.is_empty())),
    }
}

fn decode(tables: &Tables, line: &str, branch: Option<Branch>) {
    let host = Host { branch, hoppers: ["0000:05:00.0".to_owned()].into() };
    for decoder in Decoder::ALL {
        for decoded in tables.decode(decoder, line, &host) {
            assert!(decoder.gives(&decoded.reason), "{decoded:?}");
            assert_eq!(pci::address(&decoded.subject).as_ref(), Some(&decoded.subject));
            assert!(decoded.kind == FindingKind::Raise || decoded.condition.is_some(), "{decoded:?}");
            let known = tables.named(decoded.reason.as_str());
            assert_eq!(known.map(|known| known.reason).as_ref(), Some(&decoded.reason));
        }
    }
}
