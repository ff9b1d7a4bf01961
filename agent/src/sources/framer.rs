//! Cuts a byte stream into lines (or into kmsg records: a line and the indented ones after it) within bounded memory.

use memchr::memchr;

/// The longest frame held, in bytes. The kernel's longest record is 8 KiB; a longer line of a log file is cut here.
pub(crate) const FRAME_LIMIT_BYTES: usize = 64 * 1024;
const READ_BYTES: usize = 32 * 1024;

/// What belongs to one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Each line is a frame.
    Lines,
    /// Lines that begin with a space belong to the line before.
    Indented,
}

/// How sure it is that nothing more comes right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flush {
    /// More may follow at once: only frames whose end is certain.
    More,
    /// Nothing more for now: every frame that ends with a newline.
    Quiet,
    /// The end: also a last line without a newline.
    End,
}

/// One frame, without its last newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// Where in the stream it begins.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
}

/// Where a frame lies in the framer's buffer; good until the next [`Framer::room`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    offset: u64,
    start: usize,
    length: usize,
}

/// The bytes read and not yet returned: at most [`FRAME_LIMIT_BYTES`] and one read.
#[derive(Debug)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// How much of `buffer` is read data; the rest is room.
    filled: usize,
    start: usize,
    /// The stream's offset of `buffer[start]`.
    offset: u64,
    joining: Joining,
    /// The rest of a cut frame is still to be thrown away.
    discarding: bool,
    /// How much from `start` on is known to have no end of a frame: who writes byte by byte has each looked at once.
    searched: usize,
}

impl Framer {
    /// Begins at `offset` of the stream.
    pub(crate) fn new(joining: Joining, offset: u64) -> Self {
        Self { buffer: Vec::new(), filled: 0, start: 0, offset, joining, discarding: false, searched: 0 }
    }

    /// Begins inside a line at `offset`, and passes that one over.
    pub(crate) fn mid_line(joining: Joining, offset: u64) -> Self {
        Self { discarding: true, ..Self::new(joining, offset) }
    }

    /// Room for the next read; report with [`Self::filled`] how much of it was used.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < self.filled + READ_BYTES {
            self.buffer.resize(self.filled + READ_BYTES, 0);
        }
        &mut self.buffer[self.filled..]
    }

    pub(crate) fn filled(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(self.buffer.len());
    }

    /// The stream's offset behind everything that was read.
    pub(crate) fn end_offset(&self) -> u64 {
        self.offset + (self.filled - self.start) as u64
    }

    /// Whether an unfinished frame is held back.
    pub(crate) fn holds_back(&self) -> bool {
        self.filled > self.start && !self.discarding
    }

    /// The memory goes back while nothing is read.
    pub(crate) fn release(&mut self) {
        if self.start == self.filled {
            self.buffer = Vec::new();
            (self.start, self.filled, self.searched) = (0, 0, 0);
        }
    }

    /// Where the next frame is, if one is there. It borrows nothing, so the caller may loop.
    pub(crate) fn advance(&mut self, flush: Flush) -> Option<Span> {
        if self.discarding && !self.discard() {
            return None;
        }
        let (offset, start) = (self.offset, self.start);
        let (length, whole) = self.measure(flush)?;
        self.consume(whole);
        Some(Span { offset, start, length })
    }

    pub(crate) fn frame(&self, span: Span) -> Frame<'_> {
        Frame { offset: span.offset, bytes: &self.buffer[span.start..span.start + span.length] }
    }

    /// The frame's length, and how much to consume (the newline, too).
    fn measure(&mut self, flush: Flush) -> Option<(usize, usize)> {
        let found = self.end_of_frame(flush);
        let pending = &self.buffer[self.start..self.filled];
        match found {
            Some(end) if end <= FRAME_LIMIT_BYTES => Some((end, end + 1)),
            None if pending.len() <= FRAME_LIMIT_BYTES => {
                let unterminated = flush == Flush::End && !pending.is_empty();
                unterminated.then_some((pending.len(), pending.len()))
            }
            _ => {
                self.discarding = true;
                Some((FRAME_LIMIT_BYTES, FRAME_LIMIT_BYTES))
            }
        }
    }

    /// The index of the newline that ends the frame.
    fn end_of_frame(&mut self, flush: Flush) -> Option<usize> {
        let pending = &self.buffer[self.start..self.filled];
        loop {
            let Some(end) = memchr(b'\n', &pending[self.searched..]).map(|found| self.searched + found) else {
                self.searched = pending.len();
                return None;
            };
            if self.joining == Joining::Lines {
                return Some(end);
            }
            match pending.get(end + 1) {
                Some(b' ') => self.searched = end + 1,
                Some(_) => return Some(end),
                None => {
                    self.searched = end;
                    return (flush > Flush::More).then_some(end);
                }
            }
        }
    }

    /// Throws away the rest of a cut frame; false while its end is not there yet.
    fn discard(&mut self) -> bool {
        let pending = &self.buffer[self.start..self.filled];
        let found = memchr(b'\n', pending);
        self.consume(found.map_or(pending.len(), |end| end + 1));
        self.discarding = found.is_none();
        found.is_some()
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
        self.searched = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(framer: &mut Framer, flush: Flush, out: &mut Vec<(u64, Vec<u8>)>) {
        while let Some(span) = framer.advance(flush) {
            let frame = framer.frame(span);
            out.push((frame.offset, frame.bytes.to_vec()));
        }
    }

    fn framed(joining: Joining, chunks: &[&[u8]], flush: Flush) -> Vec<(u64, Vec<u8>)> {
        let mut framer = Framer::new(joining, 0);
        let mut out = Vec::new();
        for part in chunks.iter().flat_map(|chunk| chunk.chunks(READ_BYTES)) {
            framer.room()[..part.len()].copy_from_slice(part);
            framer.filled(part.len());
            drain(&mut framer, Flush::More, &mut out);
        }
        drain(&mut framer, flush, &mut out);
        out
    }

    #[test]
    fn lines_keep_their_offsets_across_reads() {
        let got = framed(Joining::Lines, &[b"on", b"e\ntwo\n\nth", b"ree"], Flush::End);
        let want: [(u64, &[u8]); 4] = [(0, b"one"), (4, b"two"), (8, b""), (9, b"three")];
        assert_eq!(got, want.map(|(o, b)| (o, b.to_vec())));
    }

    #[test]
    fn an_unterminated_line_waits_for_its_end() {
        assert_eq!(framed(Joining::Lines, &[b"half"], Flush::Quiet), []);
        assert_eq!(framed(Joining::Lines, &[b"half", b" and half\n"], Flush::Quiet), [(0, b"half and half".to_vec())]);
    }

    #[test]
    fn indented_lines_join_the_one_before() {
        let chunks: [&[u8]; 2] = [b"6,1,1,-;a\n SUBSYSTEM=x\n", b" DEVICE=y\n6,2,2,-;b\n"];
        let got = framed(Joining::Indented, &chunks, Flush::Quiet);
        assert_eq!(got, [(0, b"6,1,1,-;a\n SUBSYSTEM=x\n DEVICE=y".to_vec()), (33, b"6,2,2,-;b".to_vec())]);
    }

    #[test]
    fn a_line_of_a_megabyte_is_cut_and_its_neighbour_is_whole() {
        let mut long = vec![b'x'; 1 << 20];
        long.extend_from_slice(b"\nneighbour\n");
        let got = framed(Joining::Lines, &[b"before\n", &long], Flush::Quiet);
        let lengths: Vec<usize> = got.iter().map(|(_, bytes)| bytes.len()).collect();
        assert_eq!(lengths, [6, FRAME_LIMIT_BYTES, 9]);
        assert_eq!(got[2], (7 + (1 << 20) + 1, b"neighbour".to_vec()));
    }

    /// In pieces of any size, and asked at any time, the frames are the same.
    #[test]
    fn what_comes_byte_by_byte_is_looked_at_once() {
        let text = b"6,1,1,-;a\n SUBSYSTEM=x\n DEVICE=y\n6,2,2,-;b\n\n 6\n7";
        for joining in [Joining::Lines, Joining::Indented] {
            let whole = framed(joining, &[text], Flush::End);
            let bytes: Vec<&[u8]> = text.chunks(1).collect();
            assert_eq!(framed(joining, &bytes, Flush::End), whole, "{joining:?}");
        }
        let mut framer = Framer::new(Joining::Indented, 0);
        for (number, byte) in b"one\n two".iter().enumerate() {
            framer.room()[0] = *byte;
            framer.filled(1);
            assert!(framer.advance(Flush::More).is_none());
            let newline = number == 3;
            assert_eq!(framer.searched, if newline { 3 } else { number + 1 }, "{number}");
        }
    }

    proptest::proptest! {
        #[test]
        fn lines_are_what_split_returns_however_they_arrive(text in "[a-c\\n\\x00]{0,200}", cut in 0_usize..200) {
            let bytes = text.as_bytes();
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let framed = framed(Joining::Lines, &[head, tail], Flush::End);
            let got: Vec<Vec<u8>> = framed.into_iter().map(|f| f.1).collect();
            let mut want: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            if want.last().is_some_and(Vec::is_empty) {
                want.pop();
            }
            proptest::prop_assert_eq!(got, want);
        }
    }
}
