//! Certificates as they lie on disks.

use std::fs;

use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::*;

/// From the start of 2030 to the start of 2031.
const DATES: Dates = Dates { not_before: 1_893_456_000, not_after: 1_924_992_000 };

fn certificate() -> (String, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2030, 1, 1), date_time_ymd(2031, 1, 1));
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let quad = |part: &[u8]| {
        let word = part.iter().chain([&0, &0]).take(3).fold(0_usize, |word, byte| word << 8 | usize::from(*byte));
        let letter = |n: usize| if n <= part.len() { char::from(LETTERS[word >> (18 - 6 * n) & 63]) } else { '=' };
        (0..4).map(letter).collect::<String>()
    };
    bytes.chunks(3).map(quad).collect()
}

#[test]
fn the_first_certificate_counts_wherever_its_key_stands() {
    let (pem, key) = certificate();
    assert_eq!(dates(pem.as_bytes()), Some(DATES));
    assert_eq!(dates(format!("{key}{pem}").as_bytes()), Some(DATES));
    assert_eq!(dates(key.as_bytes()), None);
}

#[test]
fn a_kubeconfig_may_hold_one() {
    let data = base64(certificate().0.as_bytes());
    for quote in ["", "\""] {
        let text =
            format!("users:\n- user:\n    client-certificate-data: {quote}{data}{quote}\n    client-key-data: AAAA\n");
        assert_eq!(dates(text.as_bytes()), Some(DATES));
    }
    let file = "users:\n- user:\n    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem\n";
    assert_eq!(dates(file.as_bytes()), None);
}

#[test]
fn only_what_is_there_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let roots = Roots { proc: root.path().join("proc"), ..Roots::default() };
    fs::create_dir_all(root.path().join("pki/folder.pem")).unwrap();
    fs::write(root.path().join("pki/a.pem"), certificate().0).unwrap();
    fs::write(root.path().join("pki/garbage.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    let paths = ["/pki/a.pem", "/pki/garbage.pem", "/pki/none.pem", "/pki/a.pem/b"].map(PathBuf::from);
    let reading = read(&roots, &paths).unwrap();
    assert_eq!(reading.certificates, [("/pki/a.pem".to_owned(), DATES)].into());
    assert!(read(&roots, &[PathBuf::from("/pki/folder.pem")]).is_err(), "the list needs a look");
}

proptest! {
    #[test]
    fn no_bytes_break_anything(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = dates(&bytes);
        let block = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64(&bytes));
        let _ = dates(block.as_bytes());
        let _ = dates(format!("client-certificate-data: {}", base64(block.as_bytes())).as_bytes());
    }
}
