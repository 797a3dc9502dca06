//! Settings of a file: flags with their values. In: a table. Out: each key with its values as text and its line. The table of flags
//! decides which keys there are and what their values mean.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{FileMistake, PlacedMistake, at, line};

/// A flag with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The flag's name without its dashes, words joined by `-`.
    pub flag: String,
    /// Its values, in order.
    pub values: Vec<String>,
    /// The line of the key, from 1.
    pub line: usize,
}

/// Settings that apply together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Its name; empty for the settings outside all profiles.
    pub name: String,
    /// The settings, each of another flag.
    pub settings: Vec<Setting>,
}

impl Profile {
    /// Reads the settings of `keys`, from the file with this `text`.
    pub(super) fn read<'t, 'i: 't>(
        name: &str,
        keys: impl IntoIterator<Item = (&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>)>,
        text: &str,
    ) -> Result<Self, PlacedMistake> {
        let mut settings: Vec<Setting> = Vec::new();
        for (key, value) in keys {
            let flag = key.get_ref().replace('_', "-");
            if settings.iter().any(|setting| setting.flag == flag) {
                return Err(at(key, FileMistake::Twice(flag)));
            }
            if holds_tables(value) {
                return Err(at(key, FileMistake::UnknownKey { key: flag, similar: None }));
            }
            let values = values(value, &flag)?;
            settings.push(Setting { flag, values, line: line(text, key.span().start) });
        }
        settings.sort_by_key(|setting| setting.line);
        Ok(Self { name: name.to_owned(), settings })
    }
}

/// Returns true for a section, such as a misspelt `[peaks.NAME]`.
fn holds_tables(value: &Spanned<DeValue<'_>>) -> bool {
    let is_table = |value: &Spanned<DeValue<'_>>| value.get_ref().as_table().is_some();
    value.get_ref().as_table().is_some_and(|table| table.iter().any(|(_, value)| is_table(value)))
}

/// Returns the values of a setting as text: one, those of a list, or `NAME=VALUE,…` for each key of a table.
fn values(value: &Spanned<DeValue<'_>>, flag: &str) -> Result<Vec<String>, PlacedMistake> {
    match value.get_ref() {
        DeValue::Array(list) => list.iter().map(|value| scalar(value, flag)).collect(),
        DeValue::Table(table) => named(table, flag),
        _ => Ok(vec![scalar(value, flag)?]),
    }
}

fn named(table: &DeTable<'_>, flag: &str) -> Result<Vec<String>, PlacedMistake> {
    let entry = |(name, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let values = match value.get_ref() {
            DeValue::Array(list) => list.iter().map(|value| scalar(value, flag)).collect::<Result<_, _>>()?,
            _ => vec![scalar(value, flag)?],
        };
        Ok(format!("{}={}", name.get_ref(), values.join(",")))
    };
    table.iter().map(entry).collect()
}

fn scalar(value: &Spanned<DeValue<'_>>, flag: &str) -> Result<String, PlacedMistake> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(is_set) => Ok(is_set.to_string()),
        _ => Err(at(value, FileMistake::NoValue(flag.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::ConfigFile;

    fn parsed(text: &str, name: &str) -> Result<ConfigFile, String> {
        ConfigFile::parse(text, Path::new(name)).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_flags_with_values_and_lines() {
        let text = "max_time = \"500ms\"\nquick = true\nsamples = 12\nskip = [\"a\", \"b\"]\n\
                    arg = { n = [1024, \"1Mi\"], T = \"f32\" }\n[profile.ci]\nprecision = 2.5\n";
        let file = parsed(text, "gpubench.toml").expect("it is right");
        let profiles = file.profiles(Some("ci")).expect("it is there");
        let shown: Vec<String> = profiles
            .iter()
            .flat_map(|profile| &profile.settings)
            .map(|setting| format!("{} {} {}", setting.line, setting.flag, setting.values.join(" ")))
            .collect();
        assert_eq!(
            shown,
            [
                "1 max-time 500ms",
                "2 quick true",
                "3 samples 12",
                "4 skip a b",
                "5 arg T=f32 n=1024,1Mi",
                "7 precision 2.5"
            ]
        );
        let told = file.profiles(Some("nightly")).expect_err("it is not there").to_string();
        assert_eq!(told, "--profile nightly: gpubench.toml has the profiles `ci`");
    }

    #[test]
    fn a_manifest_has_them_in_a_table_of_its_own() {
        for owner in ["package", "workspace"] {
            let text = format!(
                "[package]\nname = \"x\"\n[{owner}.metadata.gpubench]\nquick = true\n\
                 [{owner}.metadata.gpubench.profile.ci]\nsamples = 7\n"
            );
            let text =
                if owner == "package" { text.replacen("[package]\nname = \"x\"\n", "", 1) } else { text };
            let file = parsed(&text, "Cargo.toml").expect("it is right");
            let flags: Vec<&str> = file.settings().map(|setting| &*setting.flag).collect();
            assert_eq!(flags, ["quick", "samples"]);
        }
        assert_eq!(
            parsed("quick = true", "Cargo.toml").expect("it is no concern of ours").settings().count(),
            0
        );
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, words) in [
            (
                "quick = true\nmax-time = 1979-05-27",
                "gpubench.toml:2: `max-time`: give text in quotes, a number",
            ),
            ("max-time = 1\nmax_time = 2", "gpubench.toml:2: `max-time` is there twice"),
            ("[profile]\nci = 3", "gpubench.toml:2: give a table for each profile, such as [profile.ci]"),
            ("profile = 3", "gpubench.toml:1: give a table for each profile"),
            ("arg = { n = { m = 1 } }", "gpubench.toml:1: unknown key `arg`"),
            ("skip = [[1]]", "gpubench.toml:1: `skip`: give text in quotes"),
        ] {
            let told = parsed(text, "gpubench.toml").expect_err("it is wrong");
            assert!(told.starts_with(words), "no `{words}` in `{told}`");
        }
    }
}
