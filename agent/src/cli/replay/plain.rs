//! Logs as log rotation and people compress them, and what is no log at all. Readers are bounded: in memory by what a header
//! may ask for, in length by how much more may come out than goes in.

use std::{
    cell::Cell,
    io::{self, BufRead, BufReader, Cursor, ErrorKind, Read},
    rc::Rc,
};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

/// So much shows what a file is: the mark of a tar archive is the furthest in.
const BEGINNING_BYTES: u64 = 512;
/// A dictionary of `xz -9` and what the reader needs beside it.
const XZ_MEMORY_KIB: u32 = 72 << 10;
/// The same line over and over is a hundred times its compressed length; a thousand times is no log.
const MOST_EXPANSION: u64 = 1000;
/// Less does no harm whatever it came from.
const HARMLESS_BYTES: u64 = 1 << 30;
/// Compressed twice by mistake is as deep as it goes.
const DEPTH: usize = 3;

/// First bytes, at an offset, and what to do about a file that has them.
const NO_LOGS: [(usize, &[u8], &str); 8] = [
    (0, b"LPKSHHRH", "a file of the journal: journalctl --file FILE -o json | nodewell replay -"),
    (0, b"BZh", "compressed by bzip2: bzip2 -dc FILE | nodewell replay -"),
    (0, b"\x04\x22\x4d\x18", "compressed by lz4: lz4 -dc FILE | nodewell replay -"),
    (0, b"PK\x03\x04", "a zip archive: unzip -p FILE LOG | nodewell replay -"),
    (0, b"7z\xbc\xaf", "a 7z archive: extract the log first"),
    (0, b"\x7fELF", "a program"),
    (0, b"SQLite format 3\0", "a database of SQLite"),
    (257, b"ustar", "a tar archive: tar -xOf FILE LOG | nodewell replay -"),
];

/// `input` decompressed, if it was compressed.
pub(super) fn plain(input: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let taken = Rc::new(Cell::new(0));
    let mut input: Box<dyn Read> = Box::new(Counted { input, count: Rc::clone(&taken) });
    for _ in 0..DEPTH {
        let mut beginning = Vec::new();
        input.by_ref().take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
        if let Some((.., what)) =
            NO_LOGS.iter().find(|(at, mark, _)| beginning.get(*at..).is_some_and(|rest| rest.starts_with(mark)))
        {
            return Err(refused(format!("it is {what}")));
        }
        let decoder = Decoder::of(&beginning);
        let whole = BufReader::new(Cursor::new(beginning).chain(input));
        input = match decoder {
            None => return Ok(Box::new(whole)),
            Some(decoder) => Box::new(Bounded { input: decoder.decode(whole), taken: Rc::clone(&taken), given: 0 }),
        };
    }
    Ok(input)
}

fn refused(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, Refused(what))
}

/// What this module says of a file, in contrast to a decoder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(String);

/// Decoders have many kinds for what they cannot decode; what the disk reports stays as it is.
fn damaged(error: io::Error) -> io::Error {
    let is_ours = error.get_ref().is_some_and(|inner| inner.is::<Refused>());
    match error.kind() {
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof | ErrorKind::Other if !is_ours => {
            refused(format!("its compressed form is damaged or cut short: {error}"))
        }
        _ => error,
    }
}

enum Decoder {
    Gzip,
    Xz,
    Zstd,
}

impl Decoder {
    fn of(beginning: &[u8]) -> Option<Self> {
        let marks: [(&[u8], Self); 3] =
            [(b"\x1f\x8b", Self::Gzip), (b"\xfd7zXZ\0", Self::Xz), (b"\x28\xb5\x2f\xfd", Self::Zstd)];
        marks.into_iter().find(|(mark, _)| beginning.starts_with(mark)).map(|(_, decoder)| decoder)
    }

    fn decode(self, input: impl BufRead + 'static) -> Box<dyn Read> {
        match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(input)),
            Self::Xz => Box::new(XzReader::new_mem_limit(input, true, XZ_MEMORY_KIB)),
            Self::Zstd => Box::new(Frames { input: Some(Frame::Next(input)) }),
        }
    }
}

/// A file of zstd is any number of frames, as after `zstd --append` or a concatenation.
struct Frames<R: BufRead> {
    input: Option<Frame<R>>,
}

enum Frame<R: BufRead> {
    Next(R),
    Open(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut decoder = match self.input.take() {
                None => return Ok(0),
                Some(Frame::Open(decoder)) => decoder,
                Some(Frame::Next(mut input)) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    Box::new(StreamingDecoder::new(input).map_err(|error| refused(format!("zstd: {error}")))?)
                }
            };
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.input = Some(Frame::Open(decoder));
                return Ok(count);
            }
            self.input = Some(Frame::Next(decoder.into_inner()));
        }
    }
}

/// Counts what is read.
struct Counted {
    input: Box<dyn Read>,
    count: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// Ends with an error where far more comes out than any log holds.
struct Bounded {
    input: Box<dyn Read>,
    taken: Rc<Cell<u64>>,
    given: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer).map_err(damaged)?;
        self.given += count as u64;
        let limit = self.taken.get().saturating_mul(MOST_EXPANSION).max(HARMLESS_BYTES);
        if self.given > limit {
            let what = format!(
                "{} bytes have become {}, which no log does; decompress it yourself if it is one",
                self.taken.get(),
                self.given
            );
            return Err(refused(what));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        plain(Box::new(Cursor::new(bytes)))?.read_to_end(&mut out)?;
        Ok(out)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_is_compressed_is_read_and_so_is_what_follows_it() {
        let log = b"[    1.000000] a line\n".repeat(1000);
        assert_eq!(read(log.clone()).unwrap(), log);
        assert_eq!(read(gzip(&log)).unwrap(), log);
        assert_eq!(read([gzip(&log), gzip(b"more")].concat()).unwrap(), [&*log, b"more"].concat());
        assert_eq!(read(gzip(&gzip(&log))).unwrap(), log, "twice");
        assert!(read(gzip(&log)[..40].to_vec()).is_err());
    }

    /// Two lines by `gzip -9`, `xz -9` and `zstd -19`.
    #[test]
    fn what_the_programs_write_is_read() {
        let saved: [(&str, &[u8]); 3] = [
            ("gzip", include_bytes!("../../../tests/saved/oops.log.gz")),
            ("xz", include_bytes!("../../../tests/saved/oops.log.xz")),
            ("zstd", include_bytes!("../../../tests/saved/oops.log.zst")),
        ];
        for (program, compressed) in saved {
            let log = read(compressed.to_vec()).unwrap();
            assert!(log.starts_with(b"[    1.000000] usb ") && log.ends_with(b": 0000000000000008\n"), "{program}");
            assert_eq!(read(compressed.repeat(2)).unwrap(), log.repeat(2), "{program}");
            assert!(read(compressed[..compressed.len() - 9].to_vec()).is_err(), "{program}: cut short");
        }
    }

    #[test]
    fn frames_and_blocks_as_the_programs_write_them() {
        let zstd = ruzstd::encoding::compress_to_vec(&b"a line\n"[..], ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(read(zstd.repeat(3)).unwrap(), b"a line\n".repeat(3));
        let mut broken = zstd;
        broken[4] ^= 0xff;
        assert!(read(broken).is_err());
    }

    #[test]
    fn what_is_no_log_is_named() {
        let of = |bytes: &[u8]| read(bytes.to_vec()).unwrap_err().to_string();
        assert!(of(b"LPKSHHRH\0\0").contains("journalctl --file"));
        assert!(of(b"BZh91AY").contains("bzip2 -dc"));
        assert!(of(&gzip(b"PK\x03\x04")).contains("a zip archive"));
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(of(&gzip(&tar)).contains("tar -xOf"));
    }

    #[test]
    fn more_than_any_log_holds_is_an_error() {
        let taken = Rc::new(Cell::new(1 << 20));
        let mut bounded = Bounded { input: Box::new(io::repeat(0)), taken: Rc::clone(&taken), given: HARMLESS_BYTES };
        assert!(bounded.read(&mut [0; 8]).unwrap_err().to_string().contains("which no log does"));
        taken.set(2 << 20);
        assert_eq!(bounded.read(&mut [0; 8]).unwrap(), 8, "a thousandfold and less");
    }
}
