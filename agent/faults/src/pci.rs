//! PCI addresses in one form, whatever their source: `0000:05:00.0`, the kernel's own.

/// `address` as the kernel writes it. Takes what NVIDIA's driver prints (`0000:05:00`, without a function), what NVML
/// gives (`00000000:05:00.0`) and what the kernel has (`10000:e1:00.0`, a domain of an NVMe bridge).
#[must_use]
pub fn address(address: &str) -> Option<String> {
    let (address, function) = address.split_once('.').unwrap_or((address, "0"));
    let mut parts = address.split(':');
    let (domain, bus, slot) = (parts.next()?, parts.next()?, parts.next()?);
    let domain = u32::from_str_radix(hex(domain, 1..=8)?, 16).ok()?;
    let sound = parts.next().is_none() && hex(function, 1..=1).is_some();
    let (bus, slot) = (hex(bus, 2..=2)?, hex(slot, 2..=2)?);
    sound.then(|| format!("{domain:04x}:{bus}:{slot}.{function}").to_ascii_lowercase())
}

/// `digits` if they are hexadecimal and as many as they may be.
fn hex(digits: &str, lengths: std::ops::RangeInclusive<usize>) -> Option<&str> {
    let sound = lengths.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    sound.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_becomes_the_kernels() {
        let cases = [
            ("0000:05:00", "0000:05:00.0"),
            ("0000:B3:00.0", "0000:b3:00.0"),
            ("00000000:86:00.1", "0000:86:00.1"),
            ("10000:e1:00.0", "10000:e1:00.0"),
            ("0019:01:00", "0019:01:00.0"),
        ];
        for (given, kernels) in cases {
            assert_eq!(address(given).as_deref(), Some(kernels));
        }
    }

    #[test]
    fn other_text_is_no_address() {
        for text in
            ["", "05:00.0", "0000:05:00.", "0000:05:00.00", "0000:5:00", "+000:05:00", "0000:05:00:00", "gggg:05:00"]
        {
            assert_eq!(address(text), None, "{text:?}");
        }
    }
}
