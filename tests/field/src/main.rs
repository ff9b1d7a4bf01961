//! `make field FIELD_CAPTURES=DIR`: what the rules find of labelled logs.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use clap::Parser;
use nodewell_field::{Score, judge, judge_quiet, print, quiet, read};
use nodewell_rules::{LoadPlan, RulesFrom, load};

const EXAMPLES: &str = "\
Examples:
  field captures/field             a table by family, and each row that is wrong
  field --rules ./rules DIR        by other rules than the shipped ones
  field --json DIR                 the same as a JSON document

Exit codes: 0 all is as the limits ask; 1 less is, or a condition turned where none may; 64 wrong usage; 66 the folder
cannot be read.";

/// Replays labelled logs and shows, family by family, what the rules find
#[derive(Debug, Parser)]
#[command(name = "field", after_help = EXAMPLES)]
struct CommandLine {
    /// The folder: expect.tsv, cases/, and maybe quiet/*.log of healthy machines
    folder: PathBuf,
    /// A folder of rule files instead of the shipped rules. May be given several times
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// A table of rows whose expectation is wrong: source, the reasons that are right, why
    #[arg(long, value_name = "FILE")]
    disputed: Option<PathBuf>,
    /// A JSON document
    #[arg(long)]
    json: bool,
    /// How many of a hundred node faults of the field have to be found
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    at_least: f64,
}

fn main() -> ExitCode {
    let line = CommandLine::try_parse().unwrap_or_else(|error| {
        let _ = error.print();
        std::process::exit(if error.use_stderr() { 64 } else { 0 });
    });
    match run(&line) {
        Ok(score) if score.is_enough(line.at_least) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("field: {error}");
            ExitCode::from(66)
        }
    }
}

fn run(line: &CommandLine) -> Result<Score, Box<dyn std::error::Error>> {
    let rules = if line.rules.is_empty() { RulesFrom::BuiltIn } else { RulesFrom::Dirs(line.rules.clone()) };
    let loaded = load(&LoadPlan { rules, ..LoadPlan::default() });
    if let Some(first) = loaded.diagnostics.first() {
        return Err(format!("the rules have mistakes, the first: {first}").into());
    }
    let (rules, mut score) = (Arc::new(loaded.set), Score::default());
    for label in read(&line.folder, line.disputed.as_deref())? {
        score.add(&label, judge(&rules, &line.folder, &label)?);
    }
    for log in quiet(&line.folder)? {
        score.add_quiet(judge_quiet(&rules, &log)?);
    }
    let mut out = io::stdout().lock();
    if line.json {
        serde_json::to_writer_pretty(&mut out, &score)?;
        writeln!(out)?;
    } else {
        print(&score, &mut out)?;
    }
    Ok(score)
}
