//! The origin of each setting: the command line, the environment, the user's file, or the default. In: the parsed command line and the
//! settings of the file. Out: `--show-config`, and the places that an error is about.

use std::fmt::{self, Display, Write};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::settings::{FileSettings, is_setting, name_of};
use crate::suite::options::OptionsError;

/// The origin of a value.
#[derive(Debug, PartialEq, Eq)]
enum Origin<'a> {
    CommandLine,
    Environment(String),
    File(&'a str),
    Default,
}

impl Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("command line"),
            Self::Environment(variable) => f.write_str(variable),
            Self::File(place) => f.write_str(place),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The origins of all settings.
pub(super) struct Origins<'a> {
    pub(super) command: &'a Command,
    pub(super) matches: &'a ArgMatches,
    pub(super) file: &'a FileSettings,
}

impl Origins<'_> {
    /// Returns the origin of a flag's value.
    fn of(&self, arg: &Arg) -> Origin<'_> {
        let id = arg.get_id().as_str();
        match self.matches.value_source(id) {
            Some(ValueSource::CommandLine) => Origin::CommandLine,
            Some(ValueSource::EnvVariable) => {
                Origin::Environment(arg.get_env().unwrap_or_default().to_string_lossy().into_owned())
            }
            _ => self.file.place(id).map_or(Origin::Default, Origin::File),
        }
    }

    /// Returns the values of a flag as they were given.
    fn values(&self, arg: &Arg) -> Vec<String> {
        let raw = self.matches.get_raw(arg.get_id().as_str());
        raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect()
    }

    /// Shows every setting with its origin, in a form that `gpubench.toml` takes.
    pub(super) fn show(&self) -> String {
        let mut text = match &self.file.file {
            Some(file) => format!("# file of settings: {file}\n"),
            None => "# file of settings: none\n".to_owned(),
        };
        let mut topic = None;
        let lines: Vec<(&Arg, String, Origin<'_>)> = self
            .command
            .get_arguments()
            .filter(|arg| is_setting(arg))
            .map(|arg| (arg, self.line(arg), self.of(arg)))
            .collect();
        let width = lines.iter().map(|(_, line, _)| line.chars().count()).filter(|width| *width <= 40).max();
        let width = width.unwrap_or_default();
        for (arg, line, origin) in &lines {
            if topic != arg.get_help_heading() {
                topic = arg.get_help_heading();
                // Writing to a string cannot fail.
                _ = writeln!(text, "\n# {}", topic.unwrap_or_default());
            }
            _ = writeln!(text, "{line:width$}  # {origin}");
        }
        text
    }

    /// Returns a setting as a line of a file; a comment if it has its default.
    fn line(&self, arg: &Arg) -> String {
        let name = name_of(arg);
        if self.of(arg) == Origin::Default {
            return match default(arg) {
                Some(default) => format!("# {name} = {default}"),
                None => format!("# {name}"),
            };
        }
        let quoted = |value: &String| match &**value {
            "true" | "false" => value.clone(),
            // What JSON quotes TOML reads.
            _ => serde_json::to_string(value).unwrap_or_default(),
        };
        let values: Vec<String> = self.values(arg).iter().map(quoted).collect();
        match (&values[..], arg.get_action()) {
            ([one], ArgAction::Set | ArgAction::SetTrue) => format!("{name} = {one}"),
            _ => format!("{name} = [{}]", values.join(", ")),
        }
    }

    /// Adds the origins of the flags that an error names, unless they are on the command line.
    pub(super) fn place(&self, error: OptionsError) -> OptionsError {
        let text = error.to_string();
        let is_named = |arg: &&Arg| {
            let flag = format!("--{}", name_of(arg));
            let follows = |at: usize| text[at + flag.len()..].chars().next();
            let ends = |next: char| !next.is_ascii_alphanumeric() && next != '-';
            text.match_indices(&flag).any(|(at, _)| follows(at).is_none_or(ends))
        };
        let place = |arg: &Arg| match self.of(arg) {
            Origin::CommandLine | Origin::Default => None,
            origin => Some(format!("--{} is from {origin}", name_of(arg))),
        };
        let places: Vec<String> = self.command.get_arguments().filter(is_named).filter_map(place).collect();
        if places.is_empty() { error } else { OptionsError::Placed { error: Box::new(error), places } }
    }
}

/// Returns the default of a flag: its value, or what its help says.
fn default(arg: &Arg) -> Option<String> {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let told = help.split_once("[default: ").and_then(|(_, told)| told.split_once(']'));
    let value = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    told.map(|(told, _)| told.split_whitespace().collect::<Vec<_>>().join(" ")).or(value)
}
