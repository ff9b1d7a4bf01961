//! The kill switch: a file on this host or a ConfigMap, read again each time. What cannot be read stops.

use std::{
    io,
    path::{Path, PathBuf},
};

use k8s_openapi::api::core::v1::ConfigMap;
use nodewell_reconcile::api_error::ApiError;
pub use nodewell_remediation::api::PAUSE_CONFIG_MAP;

use super::wire::Wire;

/// A reason, if one of these files is there.
pub(super) fn of_files(files: &[PathBuf]) -> Option<String> {
    files.iter().find_map(|file| of_file(file))
}

fn of_file(file: &Path) -> Option<String> {
    let reason = match std::fs::read(file) {
        Ok(text) => String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => format!("it cannot be read: {error}"),
    };
    let file = file.display();
    Some(if reason.is_empty() { format!("{file} is there") } else { format!("{file}: {reason}") })
}

/// A reason, if the ConfigMap is there.
pub(super) async fn of_config_map(wire: &Wire, namespace: &str) -> Result<Option<String>, ApiError> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{PAUSE_CONFIG_MAP}");
    let Some(map) = wire.get::<ConfigMap>(&path).await? else { return Ok(None) };
    let reason = map.data.and_then(|data| data.get("reason").cloned()).unwrap_or_default();
    let name = format!("ConfigMap {namespace}/{PAUSE_CONFIG_MAP}");
    Ok(Some(if reason.is_empty() { format!("{name} is there") } else { format!("{name}: {reason}") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stops_with_its_first_line_and_without_one_too() {
        let folder = tempfile::tempdir().unwrap();
        let (absent, empty, written) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        std::fs::write(&empty, "").unwrap();
        std::fs::write(&written, "maintenance of rack 4\nby me\n").unwrap();
        assert_eq!(of_files(std::slice::from_ref(&absent)), None);
        assert!(of_files(&[absent.clone(), empty]).unwrap().ends_with("is there"));
        assert!(of_files(&[absent, written]).unwrap().ends_with(": maintenance of rack 4"));
    }

    #[test]
    fn what_cannot_be_read_stops() {
        let folder = tempfile::tempdir().unwrap();
        assert!(of_files(&[folder.path().to_owned()]).unwrap().contains("cannot be read"));
    }
}
