//! Writes a cpio archive in the form that the kernel unpacks at boot
//! (`newc`, Documentation/driver-api/early-userspace/buffer-format.rst).

use std::{collections::BTreeSet, path::Path};

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
/// The name that ends an archive.
const END: &str = "TRAILER!!!";

/// What the guest finds as its root. Folders come by themselves.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    pub(crate) fn folder(&mut self, path: &str) {
        let path = path.trim_start_matches('/');
        if path.is_empty() || !self.folders.insert(path.to_owned()) {
            return;
        }
        self.folder_of(path);
        self.entry(path, FOLDER, &[]);
    }

    /// A file that may be run.
    pub(crate) fn file(&mut self, path: &str, content: &[u8]) {
        self.folder_of(path);
        self.entry(path, PROGRAM, content);
    }

    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.folder_of(path);
        self.entry(path, LINK, target.as_bytes());
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry(END, 0, &[]);
        self.bytes
    }

    fn folder_of(&mut self, path: &str) {
        if let Some(parent) = Path::new(path).parent().and_then(Path::to_str) {
            self.folder(parent);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        let name = path.trim_start_matches('/');
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("no file of a guest is that large");
        let name_size = u32::try_from(name.len() + 1).expect("paths are short");
        // inode, mode, uid, gid, links, mtime, size, device (2), device node (2), length of the name, checksum
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend_from_slice(format!("{field:08x}").as_bytes()));
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
