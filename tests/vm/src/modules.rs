//! A kernel's modules by their names, as the kernel's own index lists them.

use std::{collections::BTreeMap, fs, path::Path};

use crate::kernel::with_path;

/// Of one kernel.
#[derive(Debug)]
pub struct Index {
    /// Of the path of each module, those that it needs, as one line.
    needs: BTreeMap<String, String>,
    built_in: Vec<String>,
}

/// Where a module is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Module<'a> {
    /// In this file, below the folder of all; `needs` are others, divided by blanks.
    File {
        path: &'a str,
        needs: &'a str,
    },
    /// In the kernel itself.
    BuiltIn,
    Nowhere,
}

impl Index {
    /// Of the modules in `folder`.
    ///
    /// # Errors
    /// A message, if there is none.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| with_path(&path, error))
        };
        let needs = text("modules.dep")?;
        let needs = needs.lines().filter_map(|line| line.split_once(':'));
        let needs = needs.map(|(path, needs)| (path.to_owned(), needs.to_owned())).collect();
        let built_in = text("modules.builtin")?.lines().map(str::to_owned).collect();
        Ok(Self { needs, built_in })
    }

    #[must_use]
    pub fn find(&self, name: &str) -> Module<'_> {
        if let Some((path, needs)) = self.needs.iter().find(|(path, _)| is_called(path, name)) {
            return Module::File { path, needs };
        }
        if self.built_in.iter().any(|path| is_called(path, name)) { Module::BuiltIn } else { Module::Nowhere }
    }

    /// Whether a guest can have all of these.
    ///
    /// # Errors
    /// The names of those that are nowhere.
    pub fn has_all<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
        let missing: Vec<&str> = names.into_iter().filter(|name| matches!(self.find(name), Module::Nowhere)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("{}: neither in modules.dep nor in modules.builtin", missing.join(", ")))
    }
}

/// A hyphen and an underscore are the same to the kernel.
fn is_called(path: &str, name: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.strip_suffix(".ko").unwrap_or(file);
    stem.len() == name.len() && stem.bytes().map(plain).eq(name.bytes().map(plain))
}

fn plain(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte }
}
