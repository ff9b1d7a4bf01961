//! A page for a program and one for each of its commands, from clap's own description of them.

use std::io;

use clap::Command;
use clap_mangen::Man;

use crate::{
    examples,
    roff::{Page, escape, prose},
};

/// The page of `program` and those of its commands, `program-command`.
pub(crate) fn pages(program: Command, section: &'static str, see_also: &str) -> io::Result<Vec<Page>> {
    let program = built(program);
    let name = program.get_name().to_owned();
    let mut pages = vec![page(&program, section, see_also)?];
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        pages.push(page(command, section, &format!("{name}({section}), {see_also}"))?);
    }
    Ok(pages)
}

/// With all that clap adds, and the names of its commands.
pub(crate) fn built(program: Command) -> Command {
    // Our commands have no `help` command, so there is no page of it.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    program
}

fn page(command: &Command, section: &'static str, see_also: &str) -> io::Result<Page> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = Page::new(name, section, lower_first(about.trim_end_matches('.')).as_str());
    let man = Man::new(command.clone()).section(section);
    rendered(&mut page, |out| man.render_synopsis_section(out))?;
    if let Some(long) = command.get_long_about() {
        page.heading("DESCRIPTION");
        page.paragraph(&prose(&long.to_string()));
    }
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        rendered(&mut page, |out| man.render_options_section(out))?;
    }
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        rendered(&mut page, |out| man.render_subcommands_section(out))?;
    }
    after_help(&mut page, command);
    page.heading("SEE ALSO");
    page.line(&escape(see_also));
    Ok(page)
}

fn rendered(page: &mut Page, render: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = Vec::new();
    render(&mut out)?;
    page.text.push_str(&String::from_utf8_lossy(&out));
    Ok(())
}

/// Our closing words are "Examples:" with indented lines, then paragraphs of prose, of which a list may end one.
fn after_help(page: &mut Page, command: &Command) {
    let Some(words) = command.get_after_help().map(ToString::to_string) else { return };
    for part in words.split("\n\n") {
        match part.strip_prefix("Examples:\n") {
            Some(lines) => {
                page.heading("EXAMPLES");
                examples::commands(page, lines);
            }
            None if part.starts_with("Exit codes:") => {
                page.heading("EXIT STATUS");
                page.line(&prose(part.trim_start_matches("Exit codes:")));
            }
            None => {
                let (words, terms) = examples::terms(part);
                page.heading("NOTES");
                page.line(&prose(words));
                for (term, meaning) in terms {
                    page.term(&format!("\\fB{}\\fR", escape(term)), &prose(meaning));
                }
            }
        }
    }
}

/// As whatis(1) has it, unless the first word is a name (`JSON`).
fn lower_first(about: &str) -> String {
    let mut letters = about.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => about.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn program() -> Command {
        let sub = Command::new("look").about("Look at it.").after_help("Examples:\n  prog look -x\n\nIt only\nlooks.");
        Command::new("prog").about("A program").arg(Arg::new("file").long("file").help("Which")).subcommand(sub)
    }

    #[test]
    fn a_command_has_a_page_of_its_own_that_names_the_program() {
        let pages = pages(program(), "1", "y(5)").unwrap();
        let names: Vec<String> = pages.iter().map(Page::file_name).collect();
        assert_eq!(names, ["prog.1", "prog-look.1"]);
        assert!(pages[0].text.contains("prog\\-look(1)"), "{}", pages[0].text);
        assert!(pages[1].text.contains("prog\\-look \\- look at it\n"), "{}", pages[1].text);
        assert!(pages[1].text.contains("prog(1), y(5)"), "{}", pages[1].text);
    }

    #[test]
    fn examples_keep_their_lines_and_prose_does_not() {
        let text = &pages(program(), "1", "y(5)").unwrap()[1].text;
        assert!(text.contains(".SH EXAMPLES\n.PP\n.RS 4\n.nf\nprog look \\-x\n.fi"), "{text}");
        assert!(text.contains(".SH NOTES\nIt only looks.\n"), "{text}");
    }

    #[test]
    fn a_list_stays_a_list() {
        let program = Command::new("prog").after_help("Examples:\n  prog\n\nOne of:\n  a   it looks\n  bb  it goes");
        let text = &pages(program, "1", "y(5)").unwrap()[0].text;
        assert!(text.contains("\nOne of:\n.TP\n\\fBa\\fR\nit looks\n.TP\n\\fBbb\\fR\nit goes\n"), "{text}");
    }
}
