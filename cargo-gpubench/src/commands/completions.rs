//! Shell completions of `cargo gpubench`.

use clap::{Args, Command};
use gpubench_records::Exit;

use super::Gpubench;
use crate::output::{self, PrintOptions, Result, bail};

/// The name of the program, which cargo calls as its subcommand.
const NAME: &str = "cargo-gpubench";

/// Prints the completions for a shell.
pub(super) fn print(args: &Gpubench, options: PrintOptions) -> Result<Exit> {
    let Some(shell) = args.completions else {
        bail!(Usage, "give a command: `cargo gpubench --help` lists them");
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Gpubench::augment_args(Command::new(NAME)), NAME, &mut text);
    output::print(&String::from_utf8_lossy(&text), options)?;
    Ok(Exit::Done)
}
