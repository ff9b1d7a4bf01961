//! A Secret as a file of this host (`LoadCredential=` of systemd), so that none need be in the API: lines of `key=value`.

use std::{collections::BTreeMap, fs, io, os::unix::fs::MetadataExt, path::Path};

use nix::unistd::geteuid;
use nodewell_reconcile::cluster::Secret;

const LIMIT_BYTES: u64 = 64 * 1024;
/// Others may not read it, and a group may not write it; systemd lets the service read by the group's bits.
const FORBIDDEN_MODE: u32 = 0o027;
/// Every host has a copy of its own: its time would make each leader take it for another Secret, and try a refused account.
const VERSION: &str = "file";

/// The file of this name; nothing if there is none.
///
/// # Errors
/// It cannot be read, other users can read it, or a line of it is no pair.
pub(super) fn read(folder: &Path, name: &str) -> Result<Option<Secret>, String> {
    let path = folder.join(name);
    let wrong = |why: &str| format!("{}: {why}", path.display());
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    if !found.is_file() || found.len() > LIMIT_BYTES {
        return Err(wrong("it is no file of at most 64 KiB"));
    }
    if found.uid() != 0 && found.uid() != geteuid().as_raw() {
        return Err(wrong(&format!("it belongs to uid {}; chown root it", found.uid())));
    }
    if found.mode() & FORBIDDEN_MODE != 0 {
        return Err(wrong(&format!("other users can use it (mode {:04o}); chmod 0600 it", found.mode() & 0o7777)));
    }
    let text = fs::read_to_string(&path).map_err(|error| wrong(&error.to_string()))?;
    let data = pairs(&text).map_err(|line| wrong(&format!("line {line} is no key=value, or has a key again")))?;
    Ok(Some(Secret { version: VERSION.to_owned(), data }))
}

/// A value may have `=` in it. On an error which line it is, for the line itself may be a password.
fn pairs(text: &str) -> Result<BTreeMap<String, Vec<u8>>, usize> {
    let mut pairs = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or(number)?;
        if pairs.insert(key.trim().to_owned(), value.as_bytes().to_vec()).is_some() {
            return Err(number);
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn written(text: &str, mode: u32) -> Result<Option<BTreeMap<String, Vec<u8>>>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        read(folder.path(), "s").map(|secret| secret.map(|secret| secret.data))
    }

    #[test]
    fn its_lines_are_keys_and_values() {
        let data = written("# rack 7\n\npassword= a=b \naddress=10.0.9.0/24\nnode=*\n", 0o440).unwrap().unwrap();
        assert_eq!(data["password"], b" a=b ");
        assert_eq!((data["address"].as_slice(), data.len()), (b"10.0.9.0/24".as_slice(), 3));
        assert!(read(Path::new("/nonexistent"), "s").unwrap().is_none());
    }

    #[test]
    fn a_file_of_others_and_one_that_is_no_list_of_pairs_is_refused() {
        for (text, mode, why) in [
            ("password=x\n", 0o644, "other users can use it (mode 0644)"),
            ("password=x\n", 0o620, "other users can use it (mode 0620)"),
            ("node=*\nhunter2\n", 0o600, "line 2 is no key=value"),
            ("a=1\na=2\n", 0o600, "line 2 is no key=value, or has a key again"),
        ] {
            let refused = written(text, mode).unwrap_err();
            assert!(refused.contains(why) && !refused.contains("hunter2"), "{refused}");
        }
    }
}
