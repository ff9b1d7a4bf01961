//! What kernels are packed with: Debian's modules with nothing up to Debian 12 and with xz from 13 on, those of others,
//! and images, with zstd or gzip, too. This machine's own programs unpack them.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use crate::kernel::{output, with_path};

/// A program, and how what it has packed is known.
#[derive(Debug)]
struct Packer {
    program: &'static str,
    /// Debian's.
    package: &'static str,
    /// Of a file's name.
    ending: &'static str,
    /// How a stream begins.
    mark: &'static [u8],
    /// Unpacks files where they lie, and leaves no packed ones.
    in_place: &'static [&'static str],
    /// The length of what is packed ends a kernel image's payload: as the stream's own, or behind it.
    ends_in_length: bool,
}

static PACKERS: [Packer; 3] = [
    Packer {
        program: "xz",
        package: "xz-utils",
        ending: "xz",
        mark: b"\xfd7zXZ\0",
        in_place: &["--decompress"],
        ends_in_length: false,
    },
    Packer {
        program: "zstd",
        package: "zstd",
        ending: "zst",
        mark: b"\x28\xb5\x2f\xfd",
        in_place: &["--decompress", "--quiet", "--rm"],
        ends_in_length: false,
    },
    Packer {
        program: "gzip",
        package: "gzip",
        ending: "gz",
        mark: b"\x1f\x8b",
        in_place: &["--decompress"],
        ends_in_length: true,
    },
];
/// Bytes of that number.
const LENGTH: usize = 4;
/// Far fewer names than one command may have.
const AT_ONCE: usize = 500;
const ELF: &[u8] = b"\x7fELF";

impl Packer {
    fn has_packed(&self, file: &Path) -> bool {
        let ending = format!(".ko.{}", self.ending);
        file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending))
    }

    fn unpack(&self, stream: &[u8]) -> Result<Vec<u8>, String> {
        let failed = |error: String| format!("{} (Debian's {}): {error}", self.program, self.package);
        let mut command = Command::new(self.program);
        command.args(["-d", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let mut stdin = child.stdin.take().expect("it is piped");
        let output = thread::scope(|scope| {
            // A program that fails reads no more: its own message says why.
            scope.spawn(move || drop(stdin.write_all(stream)));
            child.wait_with_output()
        });
        let output = output.map_err(|error| failed(error.to_string()))?;
        let message = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(output.stdout) } else { Err(failed(message.trim().to_owned())) }
    }
}

/// Unpacks each module below `folder` in its place: then every program that reads modules can read these.
///
/// # Errors
/// A message, if a file cannot be read or unpacked.
pub fn unpack_modules(folder: &Path) -> Result<(), String> {
    let files = files_below(folder)?;
    for packer in &PACKERS {
        let packed: Vec<&PathBuf> = files.iter().filter(|file| packer.has_packed(file)).collect();
        for some in packed.chunks(AT_ONCE) {
            output(Command::new(packer.program).args(packer.in_place).args(some)).map_err(|error| {
                format!("the modules in {} are packed: {error} (Debian's {})", folder.display(), packer.package)
            })?;
        }
    }
    Ok(())
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| with_path(&folder, error))? {
            let entry = entry.map_err(|error| with_path(&folder, error))?;
            let kind = entry.file_type().map_err(|error| with_path(&entry.path(), error))?;
            if kind.is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    Ok(files)
}

/// What is packed in a bzImage: the kernel as an ELF file.
///
/// # Errors
/// A message, if it is no bzImage, or cannot be unpacked whole.
pub fn kernel_of(image: &[u8]) -> Result<Vec<u8>, String> {
    let payload = payload(image).ok_or("it is no bzImage")?;
    let packer = PACKERS.iter().find(|packer| payload.starts_with(packer.mark));
    let packer = packer.ok_or("its payload is packed with neither xz, zstd nor gzip")?;
    let (before, length) = payload.split_last_chunk::<LENGTH>().ok_or("its payload is empty")?;
    let stream = if packer.ends_in_length { payload } else { before };
    let kernel = packer.unpack(stream)?;
    if !kernel.starts_with(ELF) {
        return Err("what is packed in it is no ELF file".to_owned());
    }
    let whole = u32::from_le_bytes(*length);
    if u32::try_from(kernel.len()) == Ok(whole) {
        Ok(kernel)
    } else {
        Err(format!("{} bytes are packed in it, and by its own word {whole}", kernel.len()))
    }
}

/// By the header of the boot protocol (Documentation/arch/x86/boot.rst): behind the sectors of the loader, at an offset
/// that counts from their end.
fn payload(image: &[u8]) -> Option<&[u8]> {
    const SECTOR: usize = 512;
    const SECTORS: usize = 0x1f1;
    const MAGIC: usize = 0x202;
    const OFFSET: usize = 0x248;
    const SIZE: usize = 0x24c;
    let number = |at: usize| -> Option<usize> {
        let bytes = image.get(at..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    };
    if !image.get(MAGIC..)?.starts_with(b"HdrS") {
        return None;
    }
    // None is as many as in the first versions of the protocol.
    let sectors = match *image.get(SECTORS)? {
        0 => 4,
        count => usize::from(count),
    };
    let start = (sectors + 1) * SECTOR + number(OFFSET)?;
    image.get(start..start.checked_add(number(SIZE)?)?)
}
