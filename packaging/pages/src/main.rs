//! Writes what the packages carry beside the programs, from the programs themselves and from the guides in docs/.
//!
//! `nodewell-pages pages FOLDER` writes man pages and completions as they lie below /usr/share;
//! `nodewell-pages config` prints packaging/nodewell.toml, `controller-config` packaging/nodewell-controller.toml,
//! `reference` docs/reference/configuration.md, and `cli`, `metrics`, `conditions`, `messages`, `rules` and `socket`
//! the page of that name beside it;
//! `nodewell-pages schema` prints packaging/schema/nodewell.schema.json, and `controller-schema`
//! packaging/schema/nodewell-controller.schema.json;
//! `nodewell-pages changelog VERSION DATE` turns CHANGELOG.md (standard input) into what nfpm puts into each format.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod changelog;
mod command_lines;
mod commands;
mod completions;
mod conditions;
mod examples;
mod guide;
mod markdown;
mod messages;
mod metrics;
mod roff;
mod rules;
mod schema;
mod settings;
mod socket;

use std::{
    env, fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::CommandFactory;
use nodewell_agent::{check_process::ChecksCommandLine, cli, command};
use nodewell_controller::cli as controller;

use guide::Guide;
use roff::Page;

const CONFIGURATION: Guide = Guide {
    name: "nodewell.toml",
    section: "5",
    about: "configuration of nodewelld(8)",
    text: concat!(
        include_str!("../../../docs/configuration.md"),
        include_str!("../../../docs/reference/configuration.md")
    ),
    see_also: "nodewelld(8), nodewell(1), nodewell-socket(7)",
};
const SOCKET: Guide = Guide {
    name: "nodewell-socket",
    section: "7",
    about: "the local socket, where daemons report and people ask",
    text: concat!(
        include_str!("../../../docs/socket.md"),
        include_str!("../../../docs/reference/socket.md"),
        include_str!("../../../docs/connect.md")
    ),
    see_also: "nodewell(1), nodewelld(8), nodewell.toml(5), curl(1)",
};

const IDENTITY: Guide = Guide {
    name: "nodewell-identity",
    section: "7",
    about: "who the agent is to the API server",
    text: include_str!("../../../docs/identity.md"),
    see_also: "nodewell-enroll(1), nodewell-doctor(1), nodewell.toml(5), nodewelld(8)",
};

/// What could not be done.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(
        "usage: nodewell-pages pages FOLDER | config | controller-config | schema | controller-schema | reference | \
         cli | metrics | conditions | messages | rules | socket | changelog VERSION DATE < CHANGELOG.md"
    )]
    Usage,
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read or write: {0}")]
    Pipe(#[from] io::Error),
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["pages", folder] => pages(Path::new(folder)),
        ["config"] => print(&settings::agents_file()),
        ["controller-config"] => print(&settings::controllers_file()),
        ["schema"] => print(&settings::agents_schema()),
        ["controller-schema"] => print(&settings::controllers_schema()),
        ["reference"] => print(&settings::page()),
        ["cli"] => print(&command_lines::page()),
        ["metrics"] => print(&metrics::page()),
        ["conditions"] => print(&conditions::page()),
        ["messages"] => print(&messages::page()),
        ["rules"] => print(&rules::page()),
        ["socket"] => print(&socket::page()),
        ["changelog", version, date] => print_changelog(version, date),
        _ => Err(Failure::Usage),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "nodewell-pages: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().write_all(text.as_bytes()).map_err(Failure::Pipe)
}

fn pages(folder: &Path) -> Result<(), Failure> {
    let man = folder.join("man");
    for page in every_page()? {
        write(&man.join(format!("man{}", page.section)).join(page.file_name()), page.text.as_bytes())?;
    }
    let programs = [
        ("nodewelld", command::command()),
        ("nodewell-checks", ChecksCommandLine::command()),
        ("nodewell-controller", controller::command()),
        ("kubectl-nodewell", nodewell_kubectl::command()),
    ];
    let files = programs.map(|(name, command)| completions::of_command(name, &command)).into_iter().flatten();
    for file in files.chain(completions::of("nodewell", cli::completion_script)) {
        write(&folder.join(file.path), &file.text)?;
    }
    Ok(())
}

fn every_page() -> io::Result<Vec<Page>> {
    let mut pages = commands::pages(cli::command(), "1", "nodewelld(8), nodewell.toml(5), nodewell-socket(7)")?;
    pages.extend(commands::pages(command::command(), "8", "nodewell(1), nodewell.toml(5), nodewell-socket(7)")?);
    pages.extend(commands::pages(ChecksCommandLine::command(), "8", "nodewelld(8), nodewell(1), nodewell.toml(5)")?);
    pages.extend(commands::pages(controller::command(), "8", "nodewelld(8), nodewell(1)")?);
    pages.extend(commands::pages(nodewell_kubectl::command(), "1", "kubectl(1), nodewell-controller(8), nodewell(1)")?);
    pages.extend([CONFIGURATION.page(), SOCKET.page(), IDENTITY.page()]);
    Ok(pages)
}

fn print_changelog(version: &str, date: &str) -> Result<(), Failure> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(io::stdout().write_all(changelog::for_packages(&text, version, date).as_bytes())?)
}

fn write(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let failed = |source| Failure::Write { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_page() {
        let names: Vec<String> = every_page().unwrap().iter().map(Page::file_name).collect();
        for command in cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(names.contains(&format!("nodewell-{}.1", command.get_name())), "{}", command.get_name());
        }
        for command in controller::command().get_subcommands() {
            assert!(names.contains(&format!("nodewell-controller-{}.8", command.get_name())), "{}", command.get_name());
        }
        for command in nodewell_kubectl::command().get_subcommands() {
            assert!(names.contains(&format!("kubectl-nodewell-{}.1", command.get_name())), "{}", command.get_name());
        }
        for page in [
            "kubectl-nodewell.1",
            "nodewell-controller.8",
            "nodewell.1",
            "nodewelld.8",
            "nodewell-checks-run.8",
            "nodewell.toml.5",
            "nodewell-socket.7",
            "nodewell-identity.7",
        ] {
            assert!(names.iter().any(|name| name == page), "{page} of {names:?}");
        }
    }

    #[test]
    fn a_page_starts_with_its_name_and_has_no_markdown_left() {
        for page in every_page().unwrap() {
            let name = page.file_name();
            assert!(page.text.starts_with(".TH "), "{name}");
            assert!(page.text.contains(".SH NAME"), "{name}");
            for left in ["**", "```", "](", "| --"] {
                assert!(!page.text.contains(left), "{left} in {name}:\n{}", page.text);
            }
        }
    }

    #[test]
    fn each_shell_gets_a_file_for_each_program() {
        let folder = tempfile::tempdir().unwrap();
        pages(folder.path()).unwrap();
        for file in [
            "bash-completion/completions/nodewell",
            "bash-completion/completions/nodewelld",
            "zsh/_nodewell",
            "zsh/_kubectl-nodewell",
            "fish/vendor_completions.d/nodewelld.fish",
        ] {
            let text = fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(text.contains("nodewell"), "{file}");
            let names_reasons = file.ends_with("/nodewell") || file.ends_with("/_nodewell");
            assert_eq!(text.contains("KernelOops"), names_reasons, "{file} names reasons");
        }
    }
}
