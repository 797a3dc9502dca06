//! Shell completions and the manual page of `cargo gpubench`.

use clap::CommandFactory;
use clap_mangen::Man;
use gpubench_records::exit::Exit;

use crate::args::{Cargo, Gpubench};
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

/// Prints the completions for a shell, or the manual page: a section for each command.
pub(super) fn print(args: &Gpubench, print_options: PrintOptions) -> Result<Exit, CommandError> {
    if args.completions.is_none() && !args.man {
        return Err(CommandError::NoCommand);
    }
    let cargo = Cargo::command();
    let mut own =
        cargo.get_subcommands().next().map_or(cargo.clone(), |own| own.clone().name(NAME).bin_name(NAME));
    let mut text = Vec::new();
    match args.completions {
        Some(shell) => clap_complete::generate(shell, &mut own, NAME, &mut text),
        None => {
            own.build();
            let commands = own.get_subcommands().filter(|command| command.get_name() != "help").cloned();
            for command in std::iter::once(own.clone()).chain(commands) {
                // A vector takes everything.
                _ = Man::new(command).render(&mut text);
            }
        }
    }
    output::print(&String::from_utf8_lossy(&text), print_options)?;
    Ok(Exit::Done)
}

/// The program, which cargo calls as its subcommand.
const NAME: &str = "cargo-gpubench";
