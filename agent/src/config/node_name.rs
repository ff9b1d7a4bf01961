//! The name of a Node, as the API server takes it (RFC 1123, a DNS name in lower case).

const LIMIT_BYTES: usize = 253;

/// The name as it is, or what is wrong with it.
pub fn parse(text: &str) -> Result<String, String> {
    if is_valid(text) {
        return Ok(text.to_owned());
    }
    let like = text.to_lowercase().replace('_', "-");
    let hint = if is_valid(&like) { format!("; did you mean {like:?}?") } else { String::new() };
    Err(format!(
        "{text:?} is no Node's name: it takes lower-case letters, digits, \"-\" and \".\" (`kubectl get nodes`){hint}"
    ))
}

fn is_valid(name: &str) -> bool {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= LIMIT_BYTES && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_dns_name_in_lower_case() {
        for name in ["worker-7", "ip-10-0-0-7.eu.internal", "7"] {
            assert_eq!(parse(name).as_deref(), Ok(name));
        }
        for name in ["", "worker_7", "Worker-7", "-a", "a.", "a..b", "wörker", &"a".repeat(254)] {
            assert!(parse(name).is_err(), "{name:?}");
        }
        assert!(parse("Worker_7").unwrap_err().ends_with("did you mean \"worker-7\"?"));
    }
}
