//! Reads what lies on a disk: certificates, and whether a reboot is due.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::probe::{ReadError, Roots, attribute};
use x509_parser::pem::Pem;

use super::{
    host,
    reading::{Dates, FilesReading},
    reboot,
};

/// A chain with its key is a hundredth of it.
const LIMIT_BYTES: u64 = 1 << 20;

/// Everything that is asked of files.
pub(super) fn read(roots: &Roots, certificates: &[PathBuf]) -> Result<FilesReading, ReadError> {
    let mut found = BTreeMap::new();
    for path in certificates {
        let inside = host(roots).join(path.strip_prefix("/").unwrap_or(path));
        if let Some(dates) = bytes(&inside)?.as_deref().and_then(dates) {
            found.insert(path.display().to_string(), dates);
        }
    }
    Ok(FilesReading { certificates: found, reboot: reboot::read(roots) })
}

fn bytes(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LIMIT_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(attribute::read_error(path, &error)),
    }
}

/// The life of the first certificate: in a chain it is the owner's. A kubeconfig may hold one, too, or name a file, which
/// is then listed by itself.
pub(super) fn dates(bytes: &[u8]) -> Option<Dates> {
    pem_dates(bytes).or_else(|| pem_dates(&embedded(bytes)?))
}

fn pem_dates(pem: &[u8]) -> Option<Dates> {
    let block = Pem::iter_from_buffer(pem).filter_map(Result::ok).find(|block| block.label == "CERTIFICATE")?;
    let validity = block.parse_x509().ok()?.validity().clone();
    Some(Dates { not_before: validity.not_before.timestamp(), not_after: validity.not_after.timestamp() })
}

/// `client-certificate-data: BASE64`, which is PEM in base64: with a head and a foot it is PEM itself, and is decoded so.
fn embedded(kubeconfig: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(kubeconfig).ok()?;
    let data = text.lines().find_map(|line| line.trim().strip_prefix("client-certificate-data:"))?;
    let data = data.trim().trim_matches(['"', '\'']);
    let pem = format!("-----BEGIN DATA-----\n{data}\n-----END DATA-----\n");
    Pem::iter_from_buffer(pem.as_bytes()).next()?.ok().map(|block| block.contents)
}

#[cfg(test)]
mod tests;
