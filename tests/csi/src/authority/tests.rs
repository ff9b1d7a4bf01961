//! Blocks of fields as RFC 7541 has them in its appendix C.

use super::*;

const GET: [u8; 3] = [0x82, 0x86, 0x84];
/// C.4.1: `www.example.com` in Huffman's code.
const HUFFMAN: [u8; 13] = [0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];

#[test]
fn the_authority_becomes_a_host_and_all_else_is_left() {
    let plain = b"\x0fwww.example.com".as_slice();
    // Indexed from here on, not indexed, never indexed.
    for (kind, text) in [(0x41, plain), (0x41, &HUFFMAN), (0x01, plain), (0x11, &HUFFMAN)] {
        // C.2.1 and C.2.3: fields with names of their own, before and after it.
        let before = [b"\x40\x0acustom-key\x0dcustom-header".as_slice(), &GET].concat();
        let after = b"\x10\x08password\x06secret".as_slice();
        let block = [&before, [kind].as_slice(), text, after].concat();
        let passed = [&before, [kind].as_slice(), &HOST, after].concat();
        assert_eq!(with_host(&block), passed, "{block:02x?}");
    }
}

#[test]
fn a_length_of_more_than_one_byte_is_passed_over() {
    let long = "x".repeat(127 + 300);
    let length = [0x7f, 0xac, 0x02];
    let block = [b"\x04".as_slice(), &length, long.as_bytes(), b"\x41", &length, long.as_bytes(), b"\x82"].concat();
    let passed = [b"\x04".as_slice(), &length, long.as_bytes(), b"\x41", &HOST, b"\x82"].concat();
    assert_eq!(with_host(&block), passed);
}

#[test]
fn a_block_without_one_and_one_that_is_cut_are_left() {
    // C.4.2 names it by the table; a change of the table's size; an authority without a text.
    for block in [[&GET[..], &[0xbe, 0x58, 0x02, b'n', b'o']].concat(), vec![0x3f, 0xe1, 0x1f, 0x82], vec![0x41, 0]] {
        assert_eq!(with_host(&block), block);
    }
    let whole = [&GET[..], b"\x41", &HUFFMAN].concat();
    for length in 0..whole.len() {
        assert_eq!(with_host(&whole[..length]), whole[..length]);
    }
    assert_eq!(with_host(&[0x41, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff]), [0x41, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff]);
}
