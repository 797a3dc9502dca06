//! Settings of the user's file as flags. In: the file, the profile, and what the command line and the environment say. Out: a command
//! whose defaults are the settings, and the place of each. The same parser reads them, so that they mean what the flags mean.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, FromArgMatches};

use super::args::Args;
use super::modes::is_action;
use super::options::measure_options;
use crate::config::{ConfigFile, FileError, FileMistake, Setting};

/// Settings of the file that apply.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    /// The file and the profile, in words.
    pub(super) file: Option<String>,
    found: Vec<FileSetting>,
}

/// A setting that applies.
#[derive(Debug)]
struct FileSetting {
    /// The id of its flag in the table.
    id: String,
    values: Vec<String>,
    /// Its line in the file, such as `gpubench.toml:3`.
    place: String,
}

impl FileSettings {
    /// Finds the settings that apply to a command line with these `matches`. `command` reads no environment.
    pub(super) fn of(command: &Command, matches: &ArgMatches, args: &Args) -> Result<Self, FileError> {
        let profile = args.config.profile.as_deref();
        let Some(file) = ConfigFile::of(args.config.config.as_deref())? else {
            return match profile {
                None => Ok(Self::default()),
                Some(profile) => {
                    Err(FileError::NoProfile { profile: profile.to_owned(), path: None, there: Vec::new() })
                }
            };
        };
        let wrong = |line, mistake| FileError::Wrong { path: file.path().to_owned(), line, mistake };
        for setting in file.settings() {
            check(command, setting).map_err(|mistake| wrong(setting.line, mistake))?;
        }
        let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut found: Vec<FileSetting> = Vec::new();
        for setting in file.profiles(profile)?.into_iter().flat_map(|profile| &profile.settings) {
            let Some(arg) = flag(command, &setting.flag) else { continue };
            found.retain(|earlier| arg.get_id() != earlier.id.as_str());
            // Such as `warmup` in the file beside `--warmup-launches`.
            let mut given = command.get_arguments().filter(|other| is_given(matches, other));
            if given.any(|other| contradict(command, arg, other)) {
                continue;
            }
            let place = format!("{name}:{}", setting.line);
            found.push(FileSetting { id: arg.get_id().to_string(), values: setting.values.clone(), place });
        }
        let profile = profile.map(|profile| format!(", profile {profile}")).unwrap_or_default();
        Ok(Self { file: Some(format!("{}{profile}", file.path().display())), found })
    }

    /// Returns true if no setting applies.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Makes the settings defaults of `command`.
    pub(super) fn as_defaults(&self, command: Command) -> Command {
        self.found.iter().fold(command, |command, setting| {
            command.mut_arg(&setting.id, |arg| arg.default_values(&setting.values))
        })
    }

    /// Returns the line of the file that sets the flag with this id.
    pub(super) fn place(&self, id: &str) -> Option<&str> {
        self.found.iter().find(|setting| setting.id == id).map(|setting| &*setting.place)
    }
}

/// Returns true if one of these flags cannot stand beside the other.
fn contradict(command: &Command, one: &Arg, other: &Arg) -> bool {
    let excludes = |one, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    excludes(one, other) || excludes(other, one)
}

/// Returns true if the command line or the environment has this flag.
fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    let source = matches.value_source(arg.get_id().as_str());
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Returns the flag that a setting is called after; `filter` are those without a name.
fn flag<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let is_called = |arg: &&Arg| !arg.is_hide_set() && name_of(arg) == name;
    command.get_arguments().find(is_called)
}

/// Returns the name of a flag in a file.
pub(super) fn name_of(arg: &Arg) -> &str {
    arg.get_long().unwrap_or("filter")
}

/// Returns true if the flag may be in a file.
pub(super) fn is_setting(arg: &Arg) -> bool {
    !arg.is_hide_set() && !is_action(arg) && !["config", "profile"].contains(&arg.get_id().as_str())
}

/// Checks a setting, of whatever profile, by itself.
fn check(command: &Command, setting: &Setting) -> Result<(), FileMistake> {
    let key = || setting.flag.clone();
    let Some(arg) = flag(command, &setting.flag) else {
        return Err(FileMistake::UnknownKey { key: key(), similar: similar(command, &setting.flag) });
    };
    if !is_setting(arg) {
        return Err(FileMistake::NoSetting(key()));
    }
    let value = |value: &String| match arg.get_long() {
        Some(flag) => format!("--{flag}={value}"),
        None => value.clone(),
    };
    let words = std::iter::once("suite".to_owned()).chain(setting.values.iter().map(value));
    let told = |error: clap::Error| FileMistake::Value { key: key(), error: first_paragraph(&error) };
    let matches = command.clone().try_get_matches_from(words).map_err(told)?;
    let args = Args::from_arg_matches(&matches).map_err(told)?;
    let told = |error: crate::suite::options::OptionsError| FileMistake::Value {
        key: key(),
        error: error.to_string(),
    };
    measure_options(args).map(drop).map_err(told)
}

/// Returns a flag whose name is like that of an unknown one, as the parser finds it.
fn similar(command: &Command, name: &str) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let error = command.clone().try_get_matches_from(["suite", &format!("--{name}")]).err()?;
    match error.get(ContextKind::SuggestedArg)? {
        ContextValue::String(flag) => Some(flag.trim_start_matches('-').to_owned()),
        _ => None,
    }
}

/// Returns the parser's own words, without its advice.
fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = first.lines().map(str::trim).collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}
