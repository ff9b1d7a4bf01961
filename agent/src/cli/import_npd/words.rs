//! The words of a shell's command line, as a container's `sh -c` has it.

/// The arguments of the first `node-problem-detector` in `script`, and whether the shell would put something else for
/// some of it, which is done here for quotation marks and backslashes alone.
pub(super) fn arguments(script: &str) -> (Vec<String>, bool) {
    let words = split(script);
    let is_program = |word: &String| word.rsplit('/').next() == Some("node-problem-detector");
    let start = words.iter().position(is_program).map_or(words.len(), |at| at + 1);
    let arguments: Vec<String> = words.into_iter().skip(start).take_while(|word| word != END).collect();
    // `$(NAME)` is put in by the kubelet, before a shell sees it.
    let is_expanded = |word: &String| word.replace("$(", "").contains(['$', '`', '<', '>']);
    let differs = arguments.iter().any(is_expanded);
    (arguments, differs)
}

/// Stands where a command ends.
const END: &str = "\n";

/// The words, and an end for each sign that ends a command.
fn split(script: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    let mut chars = script.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(mark)) if c == mark => quote = None,
            ('\\', None | Some('"')) => match chars.next() {
                // The line goes on.
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (';' | '&' | '|' | '\n', None) => {
                words.extend(word.take());
                words.push(END.to_owned());
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (script, words) in [
            ("", &[][..]),
            ("  a  b\tc ", &["a", "b", "c"]),
            ("a;b\nc", &["a", END, "b", END, "c"]),
            ("'a b' \"c 'd'\" e\\ f", &["a b", "c 'd'", "e f"]),
            ("--x='a b'\"c\"", &["--x=a bc"]),
            ("a \\\n  b", &["a", "b"]),
            ("'' \"a\\\"b\" 'a\\b'", &["", "a\"b", "a\\b"]),
        ] {
            assert_eq!(split(script), words, "{script:?}");
        }
    }

    #[test]
    fn arguments_are_those_of_the_program() {
        let found = |script: &str| arguments(script);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let script =
            "set -e; exec /node-problem-detector --logtostderr \\\n  --hostname-override=$(NODE_NAME); sleep 1";
        assert_eq!(found(script), (words(&["--logtostderr", "--hostname-override=$(NODE_NAME)"]), false));
        assert_eq!(found("node-problem-detector --port=$PORT"), (words(&["--port=$PORT"]), true));
        assert!(found("node-problem-detector -v 2 >>/var/log/npd.log").1);
        assert_eq!(found("node-problem-detector --version && echo"), (words(&["--version"]), false));
        assert_eq!(found("/bin/other --config=x"), (Vec::new(), false));
    }
}
