//! Shell completions and the manual page of `cargo gpubench`.

use clap::CommandFactory;
use clap_mangen::Man;
use gpubench_records::Exit;

use super::{Cargo, Gpubench};
use crate::output;
use crate::output::{CommandError, PrintOptions};

/// The name of the program, which cargo calls as its subcommand.
const NAME: &str = "cargo-gpubench";

/// Prints the completions for a shell, or the manual page: a section for each command.
pub(super) fn print(args: &Gpubench, options: PrintOptions) -> Result<Exit, CommandError> {
    if args.completions.is_none() && !args.man {
        return Err(CommandError::usage("give a command: `cargo gpubench --help` lists them"));
    }
    let mut cargo = Cargo::command();
    let own = cargo.find_subcommand_mut("gpubench").map_or_else(Cargo::command, |own| own.clone());
    let mut own = own.name(NAME).bin_name(NAME);
    let mut text = Vec::new();
    if let Some(shell) = args.completions {
        clap_complete::generate(shell, &mut own, NAME, &mut text);
    } else {
        own.build();
        let commands = own.get_subcommands().filter(|command| command.get_name() != "help");
        for command in std::iter::once(&own).chain(commands) {
            // A vector takes everything.
            _ = Man::new(command.clone()).render(&mut text);
        }
    }
    output::print(&String::from_utf8_lossy(&text), options)?;
    Ok(Exit::Done)
}
