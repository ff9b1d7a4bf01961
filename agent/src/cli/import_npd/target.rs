//! The folder that the files are written to: all of them, or none.

use std::{
    fmt, fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use nodewell_rules::npd::import::NewFile;

use super::super::error::{CommandError, SOFTWARE};

/// Where to write, and whether to replace what is there.
#[derive(Debug)]
pub(super) struct Target<'a> {
    folder: &'a Path,
    replaces: bool,
}

/// A file that is as it should be now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    /// It was so before.
    pub(super) is_unchanged: bool,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_unchanged { "unchanged" } else { "written" };
        write!(f, "{verb}: {}", self.path.display())
    }
}

impl<'a> Target<'a> {
    pub(super) fn new(folder: &'a Path, replaces: bool) -> Self {
        Self { folder, replaces }
    }

    /// Writes all files.
    ///
    /// # Errors
    /// Files that are there and say something else, before any is written; what cannot be written.
    pub(super) fn write(&self, files: &[NewFile]) -> Result<Vec<Written>, CommandError> {
        let all = files.iter().map(|file| Ok((file, self.state(file)?))).collect::<Result<Vec<_>, CommandError>>()?;
        let other: Vec<String> = (all.iter())
            .filter(|(_, state)| *state == State::Different)
            .map(|(file, _)| format!("{}: it is there, and different", self.folder.join(&file.name).display()))
            .collect();
        if !other.is_empty() && !self.replaces {
            let message = format!(
                "nothing is written:\n{}\nlook at them, then give --force to replace them, or another --out",
                other.join("\n")
            );
            return Err(CommandError::new(SOFTWARE, message));
        }
        all.into_iter().map(|(file, state)| self.write_one(file, state)).collect()
    }

    fn state(&self, file: &NewFile) -> Result<State, CommandError> {
        let path = self.folder.join(&file.name);
        match fs::read(&path) {
            Ok(content) if content == file.text.as_bytes() => Ok(State::Same),
            Ok(_) => Ok(State::Different),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(State::Missing),
            Err(error) => Err(CommandError::new(SOFTWARE, format!("{}: cannot be read: {error}", path.display()))),
        }
    }

    fn write_one(&self, file: &NewFile, state: State) -> Result<Written, CommandError> {
        let path = self.folder.join(&file.name);
        if state != State::Same {
            replace(&path, file.text.as_bytes()).map_err(|error| {
                CommandError::new(SOFTWARE, format!("{}: cannot be written: {error}", path.display()))
            })?;
        }
        Ok(Written { path, is_unchanged: state == State::Same })
    }
}

/// What is there of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Same,
    Different,
}

/// In one step: the agent may read it at any time.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // No rule file, and no configuration, by its extension.
    name.push(".new");
    let draft = path.with_file_name(name);
    let written = fs::File::create(&draft).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&draft, path));
    if done.is_err() {
        // What is left of it would only be in the way.
        let _ = fs::remove_file(&draft);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> NewFile {
        NewFile { name: name.into(), text: text.to_owned() }
    }

    #[test]
    fn all_are_written_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        let (a, b) = (file("monitors.d/a.toml", "a = 1\n"), file("nodewell.toml.d/npd.toml", "b = 1\n"));
        let written = Target::new(folder.path(), false).write(std::slice::from_ref(&a)).unwrap();
        assert_eq!(written, [Written { path: folder.path().join("monitors.d/a.toml"), is_unchanged: false }]);
        let error =
            Target::new(folder.path(), false).write(&[b.clone(), file("monitors.d/a.toml", "a = 2\n")]).unwrap_err();
        assert!(error.to_string().contains("monitors.d/a.toml: it is there, and different\n"), "{error}");
        assert_eq!((read("nodewell.toml.d/npd.toml"), read("monitors.d/a.toml").as_deref()), (None, Some("a = 1\n")));
        let written = Target::new(folder.path(), false).write(&[a, b]).unwrap();
        assert_eq!(written.iter().map(|file| file.is_unchanged).collect::<Vec<_>>(), [true, false]);
        Target::new(folder.path(), true).write(&[file("monitors.d/a.toml", "a = 3\n")]).unwrap();
        assert_eq!(read("monitors.d/a.toml").as_deref(), Some("a = 3\n"));
        assert_eq!(fs::read_dir(folder.path().join("monitors.d")).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("monitors.d"), "a file").unwrap();
        let error = Target::new(folder.path(), true).write(&[file("monitors.d/a.toml", "")]).unwrap_err();
        assert!(error.to_string().contains("monitors.d/a.toml: cannot be"), "{error}");
    }
}
