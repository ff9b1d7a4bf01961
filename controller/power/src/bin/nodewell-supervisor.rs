//! The supervisor as a program of its own, for tests: the controller has it as a hidden subcommand.

fn main() -> std::process::ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    args.next_if(|first| first == "fence-agent");
    nodewell_power::supervisor::main(args)
}
