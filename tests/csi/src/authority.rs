//! What a client sends, with a host for its `:authority`. The kubelet dials the path of a socket, and gRPC's Go library
//! makes that the authority, percent-encoded: `%2Fvar%2Flib…`. `h2` resets such a request with PROTOCOL_ERROR.

#[cfg(test)]
mod tests;

use std::ops::Range;

use tokio::io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// `PRI * HTTP/2.0` and what follows it (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;
/// Length, type, flags, stream (section 4.1).
const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// In the static table of RFC 7541, appendix A.
const AUTHORITY: usize = 1;
/// Of one byte, so that no authority is shorter: a receiver whose fields are no longer than the sender's has every
/// field in its dynamic table that the sender names.
const HOST: [u8; 2] = [1, b'-'];

/// Passes on all that `client` sends, until one of them ends.
pub(crate) async fn pass(mut client: impl AsyncRead + Unpin, mut server: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut preface = [0; PREFACE_BYTES];
    client.read_exact(&mut preface).await?;
    server.write_all(&preface).await?;
    loop {
        let mut head = [0; HEAD_BYTES];
        client.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = (&mut client).take(length.into());
        if is_block(head) {
            let mut block = Vec::new();
            payload.read_to_end(&mut block).await?;
            let block = with_host(&block);
            head[..3].copy_from_slice(&(block.len() as u32).to_be_bytes()[1..]);
            server.write_all(&head).await?;
            server.write_all(&block).await?;
        } else {
            server.write_all(&head).await?;
            io::copy(&mut payload, &mut server).await?;
        }
    }
}

/// All fields of a request and nothing else, as the Go library sends up to 16 KiB of them.
fn is_block(head: [u8; HEAD_BYTES]) -> bool {
    head[3] == HEADERS && head[4] & (END_HEADERS | PADDED | PRIORITY) == END_HEADERS
}

/// A block without an authority, or one that cannot be read, is left as it is.
fn with_host(block: &[u8]) -> Vec<u8> {
    let Some(Range { start, end }) = authority(block) else { return block.to_vec() };
    [&block[..start], &HOST, &block[end..]].concat()
}

/// Where the block has the authority's length and text, unless they are in the dynamic table already.
fn authority(block: &[u8]) -> Option<Range<usize>> {
    let mut fields = Fields { block, at: 0 };
    loop {
        // RFC 7541, section 6: indexed, to be indexed, the table's size, not indexed.
        let (bits, has_text) = match fields.first()? {
            0x80.. => (7, false),
            0x40..0x80 => (6, true),
            0x20..0x40 => (5, false),
            0..0x20 => (4, true),
        };
        let name = fields.integer(bits)?;
        if !has_text {
            continue;
        }
        if name == 0 {
            fields.skip_text()?;
        }
        let start = fields.at;
        let length = fields.skip_text()?;
        if name == AUTHORITY && length > 0 {
            return Some(start..fields.at);
        }
    }
}

/// A block that is read up to a place.
struct Fields<'a> {
    block: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn first(&self) -> Option<u8> {
        self.block.get(self.at).copied()
    }

    /// In the low bits of a byte, and in further bytes where these are all set (RFC 7541, section 5.1).
    fn integer(&mut self, bits: u32) -> Option<usize> {
        let most = (1 << bits) - 1;
        let mut number = usize::from(self.next()?) & most;
        if number < most {
            return Some(number);
        }
        for shift in (0..28).step_by(7) {
            let byte = self.next()?;
            number += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Passes over a text (RFC 7541, section 5.2), in Huffman's code or not; gives its length here.
    fn skip_text(&mut self) -> Option<usize> {
        let length = self.integer(7)?;
        self.at += length;
        (self.at <= self.block.len()).then_some(length)
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.first()?;
        self.at += 1;
        Some(byte)
    }
}
