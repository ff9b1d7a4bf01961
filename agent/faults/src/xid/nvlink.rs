//! Xid 74: the error registers in its line, `NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0,
//! 0x0)`, and what their bits show on a GPU of the Hopper generation.
//!
//! The bits are those that NVIDIA's Xid catalogue lists under WORKFLOW_NVLINK_ERR
//! (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): for Hopper alone, whose first, third, fourth and
//! fifth register are in use. On other GPUs nothing is read from them.

/// How many there are in a line.
const REGISTERS: usize = 7;

type Registers = [u32; REGISTERS];

/// What the registers show, where it is other than that the GPU wants a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Bits that may be ignored, or a threshold of errors that were all corrected.
    Harmless,
    /// The connection: seats, bridges, cables.
    Mechanical,
}

const HARMLESS: Registers = [bits(&[0, 23, 30]), 0, 0, 0, bits(&[20, 23, 26, 29]), 0, 0];
/// They come with other errors, of this GPU or of the one at the other end.
const SECONDARY: Registers = [bits(&[1, 20]), 0, 0, bits(&[16, 17, 18]), 0, 0, 0];
const MECHANICAL: u32 = bits(&[8, 9, 12, 16, 17, 21, 22, 24, 28]);

const fn bits(places: &[u32]) -> u32 {
    let (mut mask, mut at) = (0_u32, 0_usize);
    while at < places.len() {
        mask |= 1_u32 << places[at];
        at += 1;
    }
    mask
}

/// What the registers of a Hopper's line show. `None`: a reset is wanted, as without registers; so it is for bits of
/// which the catalogue says that they are memory errors, and for those that it does not list.
pub(crate) fn shown(rest: &str) -> Option<Shown> {
    let registers = read(rest)?;
    let without = |mask: &Registers| {
        let mut left = registers;
        left.iter_mut().zip(mask).for_each(|(register, mask)| *register &= !mask);
        left
    };
    if registers == Registers::default() {
        return None;
    }
    if without(&HARMLESS) == Registers::default() {
        return Some(Shown::Harmless);
    }
    let mut others = HARMLESS;
    others.iter_mut().zip(SECONDARY).for_each(|(mask, secondary)| *mask |= secondary);
    let [first, rest @ ..] = without(&others);
    let is_mechanical = first != 0 && first & !MECHANICAL == 0 && rest.iter().all(|register| *register == 0);
    is_mechanical.then_some(Shown::Mechanical)
}

/// The last such words are the driver's: a program's name stands before them.
fn read(rest: &str) -> Option<Registers> {
    let (_, after) = rest.rsplit_once("error detected on link ")?;
    let (link, words) = after.split_once('(')?;
    let (words, _) = words.split_once(')')?;
    let is_link = !link.is_empty() && link.bytes().all(|byte| byte.is_ascii_digit());
    let registers: Option<Vec<u32>> = words.split(',').map(hexadecimal).collect();
    registers.filter(|_| is_link)?.try_into().ok()
}

fn hexadecimal(word: &str) -> Option<u32> {
    u32::from_str_radix(word.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(registers: Registers) -> String {
        let words: Vec<String> = registers.iter().map(|register| format!("{register:#x}")).collect();
        format!("pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14({})", words.join(", "))
    }

    #[test]
    fn registers_show_what_nvidias_catalogue_says() {
        let cases: &[(Registers, Option<Shown>)] = &[
            ([1 << 16, 0, 0, 0, 0, 0, 0], Some(Shown::Mechanical)),
            ([1 << 21, 0, 0, 0, 0, 0, 0], Some(Shown::Mechanical)),
            ([(1 << 28) | (1 << 1), 0, 0, 1 << 18, 0, 0, 0], Some(Shown::Mechanical)),
            ([1 << 23, 0, 0, 0, 1 << 20, 0, 0], Some(Shown::Harmless)),
            ([1, 0, 0, 0, 0, 0, 0], Some(Shown::Harmless)),
            // Memory of the link, alone or beside its seat; secondary errors alone.
            ([1 << 4, 0, 0, 0, 0, 0, 0], None),
            ([(1 << 4) | (1 << 16), 0, 0, 0, 0, 0, 0], None),
            ([0, 0, 1 << 16, 0, 0, 0, 0], None),
            ([1 << 16, 0, 1 << 6, 0, 0, 0, 0], None),
            ([0, 0, 0, 1 << 18, 0, 0, 0], None),
            ([0, 0, 0, 0, 1 << 18, 0, 0], None),
            // Bits that it does not list, registers that it does not use, nothing.
            ([(1 << 31) | (1 << 16), 0, 0, 0, 0, 0, 0], None),
            ([1 << 16, 1, 0, 0, 0, 0, 0], None),
            ([1, 0, 0, 0, 0, 0, 1], None),
            ([0; REGISTERS], None),
        ];
        for (registers, expected) in cases {
            assert_eq!(shown(&line(*registers)), *expected, "{registers:x?}");
        }
    }

    #[test]
    fn a_line_without_all_registers_shows_nothing() {
        for rest in [
            "NVLink: fatal error detected on link 6",
            "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0",
            "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0)",
            "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            "NVLink: fatal error detected on link 6(0x100000000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            "NVLink: fatal error detected on link (0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            "NVLink: fatal error detected on link 6(65536, 0, 0, 0, 0, 0, 0)",
        ] {
            assert_eq!(shown(rest), None, "{rest}");
        }
    }
}
