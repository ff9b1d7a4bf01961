//! The folder that the files are written to: all of them, or none. Each is written beside its place first; then all are
//! put into their places.

use std::{
    fmt,
    fs::{self, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown},
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
    /// Files that are there and say something else, and what cannot be written: nothing is written then. A file that
    /// cannot be put into its place, with those that were before.
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
        let drafts = all.iter().map(|(file, state)| self.draft(file, *state)).collect::<Result<Vec<_>, _>>()?;
        let mut written: Vec<Written> = Vec::new();
        for ((file, state), draft) in all.iter().zip(drafts) {
            let path = self.folder.join(&file.name);
            draft.map_or(Ok(()), Draft::place).map_err(|error| half_done(&path, &error, &written))?;
            written.push(Written { path, is_unchanged: *state == State::Same });
        }
        Ok(written)
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

    fn draft(&self, file: &NewFile, state: State) -> Result<Option<Draft>, CommandError> {
        if state == State::Same {
            return Ok(None);
        }
        let path = self.folder.join(&file.name);
        let draft = Draft::new(&path, file.text.as_bytes());
        draft.map(Some).map_err(|error| {
            let message = format!("nothing is written: {}: cannot be written: {error}", path.display());
            CommandError::new(SOFTWARE, message)
        })
    }
}

fn half_done(path: &Path, error: &io::Error, written: &[Written]) -> CommandError {
    let path = path.display();
    let done: Vec<String> = written.iter().map(ToString::to_string).collect();
    let message = format!("{path}: cannot be written: {error}; give the command again when that is mended");
    CommandError::new(SOFTWARE, [done, vec![message]].concat().join("\n"))
}

/// What is there of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Same,
    Different,
}

/// A file beside its place. It goes again, unless it comes there.
struct Draft {
    file: PathBuf,
    place: PathBuf,
}

impl Draft {
    fn new(place: &Path, content: &[u8]) -> io::Result<Self> {
        place.parent().map_or(Ok(()), make_folder)?;
        let mut name = place.file_name().unwrap_or_default().to_owned();
        // No rule file, and no configuration, by its extension.
        name.push(".new");
        let draft = Self { file: place.with_file_name(name), place: place.to_owned() };
        write_draft(&draft.file, content, fs::metadata(place).ok().as_ref())?;
        Ok(draft)
    }

    /// In one step: the agent may read it at any time.
    fn place(self) -> io::Result<()> {
        fs::rename(&self.file, &self.place)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What is left of it would only be in the way; one that is in its place is not here any more.
        let _ = fs::remove_file(&self.file);
    }
}

/// Makes what is missing of `folder`, as packages do: the agent's user reads there, whatever umask the caller has.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    folder.parent().map_or(Ok(()), make_folder)?;
    fs::create_dir(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}

/// A new file, with the owner and the rights of the one that was there `before`; for all to read if there was none.
/// What lies at its place is removed, and not written through: it may be a link.
fn write_draft(draft: &Path, content: &[u8], before: Option<&Metadata>) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(content)?;
    if let Some(before) = before {
        // Only root can give a file away; one's own is one's own already.
        let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
    }
    file.set_permissions(before.map_or_else(|| Permissions::from_mode(0o644), Metadata::permissions))?;
    file.sync_all()
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

    /// As when the disk is full.
    #[test]
    fn what_fails_midway_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("nodewell.toml.d/npd.toml.new")).unwrap();
        let files = [file("monitors.d/a.toml", "a = 1\n"), file("nodewell.toml.d/npd.toml", "b = 1\n")];
        let error = Target::new(folder.path(), false).write(&files).unwrap_err().to_string();
        assert!(
            error.starts_with("nothing is written: ") && error.contains("npd.toml: cannot be written: "),
            "{error}"
        );
        assert_eq!(fs::read_dir(folder.path().join("monitors.d")).unwrap().count(), 0);
    }

    #[test]
    fn a_link_in_the_way_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (monitors, other) = (folder.path().join("monitors.d"), folder.path().join("other"));
        fs::create_dir(&monitors).unwrap();
        fs::write(&other, "of another\n").unwrap();
        std::os::unix::fs::symlink(&other, monitors.join("a.toml.new")).unwrap();
        Target::new(folder.path(), false).write(&[file("monitors.d/a.toml", "a = 1\n")]).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "of another\n");
        assert!(fs::symlink_metadata(monitors.join("a.toml")).unwrap().is_file());
    }

    #[test]
    fn a_file_that_is_replaced_has_its_rights_still() {
        let folder = tempfile::tempdir().unwrap();
        let (target, path) = (Target::new(folder.path(), true), folder.path().join("monitors.d/a.toml"));
        let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
        target.write(&[file("monitors.d/a.toml", "a = 1\n")]).unwrap();
        assert_eq!(mode(), 0o644);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        target.write(&[file("monitors.d/a.toml", "a = 2\n")]).unwrap();
        assert_eq!((mode(), fs::read_to_string(&path).unwrap().as_str()), (0o640, "a = 2\n"));
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("monitors.d"), "a file").unwrap();
        let error = Target::new(folder.path(), true).write(&[file("monitors.d/a.toml", "")]).unwrap_err();
        assert!(error.to_string().contains("monitors.d/a.toml: cannot be"), "{error}");
    }
}
