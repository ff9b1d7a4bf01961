//! The rules we ship, embedded: the agent is whole without a file of its own.

/// The folder that embedded files are told to lie in, where their mistakes and rules are named.
pub const FOLDER: &str = "built-in";

/// One shipped rule file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedFile {
    /// What a file in the overrides directory must be called to mask it.
    pub name: &'static str,
    /// TOML.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(ShippedFile { name: $name, text: include_str!(concat!("../shipped/", $name)) }),*]
    };
}

/// Every file of `agent/rules/shipped/`, in name order.
pub const FILES: &[ShippedFile] = shipped![
    "filesystem.toml",
    "hardware.toml",
    "kernel.toml",
    "memory.toml",
    "network.toml",
    "services.toml",
    "storage.toml",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_directory_is_embedded() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/shipped");
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        let mut found: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.retain(|name| name.ends_with(".toml"));
        found.sort();
        let listed: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        assert_eq!(listed, found);
    }
}
