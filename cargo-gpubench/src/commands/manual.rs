//! Shell completions and the manual page of `cargo gpubench`.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use gpubench_records::exit::Exit;

use crate::args::Cargo;
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

/// Prints the completions for a shell, or the manual page: a section for each command.
pub(super) fn print(completions: Option<Shell>, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let mut cargo = Cargo::command();
    cargo.build();
    let mut text = Vec::new();
    let own = cargo.get_subcommands_mut().next().map(|own| own.clone().name(NAME).bin_name(NAME));
    let mut own: Command = own.unwrap_or(cargo);
    match completions {
        Some(shell) => clap_complete::generate(shell, &mut own, NAME, &mut text),
        None => {
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
