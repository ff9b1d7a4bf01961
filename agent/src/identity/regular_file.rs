//! Opens what a configuration or a kubeconfig names: a regular file, and nothing that would be waited for.

use std::{
    fs::{self, File, FileType},
    io::{self, ErrorKind},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use nix::fcntl::OFlag;

/// A link to one is as good. A FIFO without a writer would hold the thread that opens it for ever, a device may do
/// something when it is opened, and a terminal would become ours.
pub(super) fn open(path: &Path) -> io::Result<File> {
    refuse_others(fs::metadata(path)?.file_type())?;
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path)?;
    // It may be another one by now.
    refuse_others(file.metadata()?.file_type())?;
    Ok(file)
}

fn refuse_others(found: FileType) -> io::Result<()> {
    let what = match found {
        _ if found.is_file() => return Ok(()),
        _ if found.is_dir() => "a folder",
        _ if found.is_fifo() => "a FIFO",
        _ if found.is_socket() => "a socket",
        _ => "a device",
    };
    let message = format!("it is {what}, and only a regular file is read: name one, or a link to one");
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        os::unix::{fs::symlink, net::UnixListener},
    };

    use super::*;

    #[test]
    fn a_regular_file_and_a_link_to_one_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        for path in [file, link] {
            let mut text = String::new();
            open(&path).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "text");
        }
    }

    /// Without a writer, a listener or an end none of them would ever be read.
    #[test]
    fn anything_else_is_named_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (fifo, link) = (folder.path().join("fifo"), folder.path().join("link"));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink(&fifo, &link).unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (&*fifo, "it is a FIFO, "),
            (&*link, "it is a FIFO, "),
            (&*socket, "it is a socket, "),
            (folder.path(), "it is a folder, "),
            (Path::new("/dev/zero"), "it is a device, "),
        ] {
            let error = open(path).unwrap_err().to_string();
            assert!(error.starts_with(what) && error.ends_with("name one, or a link to one"), "{error}");
        }
        assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
