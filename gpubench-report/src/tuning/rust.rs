//! The best variants as a module in Rust. In: tables; out: source text, with a module for each benchmark, that needs no crate and
//! reads no file: constants by the device's model, and a function that chooses.

use std::fmt::Write as _;

use gpubench_records::id::Arg;
use gpubench_records::tuning::{ModelTable, TunedTable};
use gpubench_stats::format;

use crate::text::plain;

/// The words that are no names in Rust, unless as `r#…`.
const KEYWORDS: [&str; 46] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where",
];

/// The source text.
pub(super) fn module(tables: &[TunedTable]) -> String {
    let mut text = "//! The best variants by device and problem, as races found them. Written by `cargo gpubench tuned`: instead of editing it, race\n\
                    //! again and write it anew.\n"
        .to_owned();
    let names = module_names(tables);
    for (table, name) in tables.iter().zip(names) {
        text += &of_benchmark(table, &name);
    }
    text
}

/// The names of the modules: those of the functions, or their whole paths if two are the same.
fn module_names(tables: &[TunedTable]) -> Vec<String> {
    let last = |table: &TunedTable| identifier(table.benchmark.rsplit("::").next().unwrap_or_default());
    let all: Vec<String> = tables.iter().map(last).collect();
    let is_unique = |name: &String| all.iter().filter(|other| *other == name).count() == 1;
    let named = |(table, name): (&TunedTable, &String)| match is_unique(name) {
        true => name.clone(),
        false => identifier(&table.benchmark.replace("::", "_")),
    };
    tables.iter().zip(&all).map(named).collect()
}

/// The text as a name in Rust.
fn identifier(text: &str) -> String {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut name: String =
        text.chars().map(|character| if is_allowed(character) { character } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    if KEYWORDS.contains(&&*name) { format!("r#{name}") } else { name }
}

/// The type of an axis: the narrowest that all of its values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Signed,
    Float,
    Bool,
    Text,
}

impl Kind {
    fn of<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Self {
        let all = |is_one: fn(&str) -> bool| values.clone().all(is_one);
        if all(|value| value.parse::<u64>().is_ok()) {
            Self::Unsigned
        } else if all(|value| value.parse::<i64>().is_ok()) {
            Self::Signed
        } else if all(|value| value.parse::<f64>().is_ok_and(f64::is_finite)) {
            Self::Float
        } else if all(|value| value.parse::<bool>().is_ok()) {
            Self::Bool
        } else {
            Self::Text
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "usize",
            Self::Signed => "i64",
            Self::Float => "f64",
            Self::Bool => "bool",
            Self::Text => "&'static str",
        }
    }

    fn literal(self, value: &str) -> String {
        match self {
            Self::Unsigned => value.parse::<u64>().map(|value| value.to_string()),
            Self::Signed => value.parse::<i64>().map(|value| value.to_string()),
            Self::Float => return format!("{:?}", value.parse::<f64>().unwrap_or_default()),
            Self::Bool => return value.to_owned(),
            Self::Text => return format!("{value:?}"),
        }
        .unwrap_or_default()
    }
}

/// The axes of a struct, with their types.
struct Fields(Vec<(String, Kind)>);

impl Fields {
    /// Those of these arguments, which all have the same names.
    fn of<'a>(all: impl Iterator<Item = &'a [Arg]> + Clone) -> Self {
        let first = all.clone().next().unwrap_or_default();
        let kind = |name: &'a str| {
            let values = all.clone().flatten().filter(move |arg| arg.name == name).map(|arg| &*arg.value);
            (name.to_owned(), Kind::of(values))
        };
        Self(first.iter().map(|arg| kind(&arg.name)).collect())
    }

    fn definition(&self, name: &str) -> String {
        let field =
            |(name, kind): &(String, Kind)| format!("        pub {}: {},\n", identifier(name), kind.name());
        let fields: String = self.0.iter().map(field).collect();
        format!("    #[derive(Clone, Copy, Debug, PartialEq)]\n    pub struct {name} {{\n{fields}    }}\n")
    }

    fn value(&self, name: &str, args: &[Arg]) -> String {
        let field = |(name, kind): &(String, Kind)| {
            let value = args.iter().find(|arg| arg.name == *name).map_or("", |arg| &arg.value);
            format!("{}: {}", identifier(name), kind.literal(value))
        };
        let fields: Vec<String> = self.0.iter().map(field).collect();
        format!("{name} {{ {} }}", fields.join(", "))
    }
}

fn of_benchmark(table: &TunedTable, name: &str) -> String {
    let TunedTable { benchmark, axes, models } = table;
    let problems = Fields::of(models.iter().flat_map(|part| &part.problems).map(|(args, _)| &**args));
    let variants = models.iter().flat_map(|part| {
        part.problems.iter().map(|(_, best)| &**best).chain(std::iter::once(&*part.default))
    });
    let variants = Fields::of(variants);
    let mut text = format!("\n/// `{}`:\n", plain(benchmark));
    for part in models {
        _ = writeln!(text, "/// {}", raced_on(part));
    }
    _ = write!(
        text,
        "#[allow(dead_code, missing_docs, non_snake_case, unreachable_pub, clippy::all, clippy::pedantic)]\n\
         #[rustfmt::skip]\n\
         pub mod {name} {{\n    \
             /// A hash of the axes that were tuned. With `tuned = …::AXES` in the attribute, tests fail once they are others.\n    \
             pub const AXES: &str = {axes:?};\n\n    \
             /// A variant.\n{}\n",
        variants.definition("Variant")
    );
    let default = models.first().map(|part| variants.value("Variant", &part.default)).unwrap_or_default();
    let has_problems = !problems.0.is_empty();
    if has_problems {
        _ = writeln!(text, "    /// A problem.\n{}", problems.definition("Problem"));
    }
    let chosen = if has_problems { " The last variant is for problems that resemble none." } else { "" };
    let kind = if has_problems { "(&str, &[(Problem, Variant)], Variant)" } else { "(&str, Variant)" };
    _ = write!(
        text,
        "    /// The variant for devices of other models.\n    pub const DEFAULT: Variant = {default};\n\n    \
             /// The best variants by the device's model.{chosen}\n    pub const MODELS: &[{kind}] = &[\n"
    );
    for part in models {
        let default = variants.value("Variant", &part.default);
        if has_problems {
            _ = writeln!(text, "        ({:?}, &[", part.model);
            for (problem, best) in &part.problems {
                let (problem, best) = (problems.value("Problem", problem), variants.value("Variant", best));
                _ = writeln!(text, "            ({problem}, {best}),");
            }
            _ = writeln!(text, "        ], {default}),");
        } else {
            _ = writeln!(text, "        ({:?}, {default}),", part.model);
        }
    }
    text += "    ];\n\n";
    text += &if has_problems { choice(&problems) } else { CHOICE.to_owned() };
    text + "}\n"
}

/// The race on a model, as a sentence.
fn raced_on(part: &ModelTable) -> String {
    let ModelTable { model, fake, driver, cache, band, .. } = part;
    let driver = driver.as_ref().map(|driver| format!(" with driver {}", plain(driver))).unwrap_or_default();
    let fake = if *fake { ". A stand-in for tests: none of this is a measurement" } else { "" };
    let band = format::plus_minus(*band);
    format!("raced {cache} on {}{driver}, where {band} does not matter{fake}.", plain(model))
}

/// The function that chooses where there is one problem.
const CHOICE: &str = "    /// Returns the best variant on a device of this model.
    pub fn best(model: &str) -> Variant {
        MODELS.iter().find(|(name, _)| *name == model).map_or(DEFAULT, |(_, best)| *best)
    }
";

/// The function that chooses: numbers of problems may be near, and all else is equal.
fn choice(problems: &Fields) -> String {
    let [near, equal] = [true, false].map(|is_near| {
        let of_kind = problems.0.iter().filter(move |(_, kind)| (*kind == Kind::Unsigned) == is_near);
        of_kind.map(|(name, _)| identifier(name)).collect::<Vec<_>>()
    });
    let is_comparable: Vec<String> =
        equal.iter().map(|name| format!("problem.{name} == other.{name}")).collect();
    let comparable = if equal.is_empty() {
        String::new()
    } else {
        format!(".filter(|(other, _)| {})", is_comparable.join(" && "))
    };
    let ratio =
        |name: &String| format!("((problem.{name} as f64 + 1.0) / (other.{name} as f64 + 1.0)).ln().abs()");
    let distance = match &near[..] {
        [] => "0.0_f64".to_owned(),
        near => near.iter().map(ratio).collect::<Vec<_>>().join(" + "),
    };
    let other = if near.is_empty() { "_" } else { "other" };
    let rule = match (near.is_empty(), equal.is_empty()) {
        (false, true) => "that is nearest, by the ratios of its numbers".to_owned(),
        (false, false) => {
            format!("with the same {} that is nearest, by the ratios of its numbers", equal.join(", "))
        }
        (true, _) => "that is the same".to_owned(),
    };
    format!(
        "    /// Returns the best variant on a device of this model for the problem that was raced {rule}.\n    \
             /// Nothing is known of problems in between: race those that matter.\n    \
             pub fn best(model: &str, problem: Problem) -> Variant {{\n        \
                 let Some((_, raced, default)) = MODELS.iter().find(|(name, ..)| *name == model) else {{ return DEFAULT }};\n        \
                 let distance = |{other}: &Problem| {distance};\n        \
                 raced.iter(){comparable}\n            \
                     .min_by(|(a, _), (b, _)| distance(a).total_cmp(&distance(b)))\n            \
                     .map_or(*default, |(_, best)| *best)\n    \
             }}\n"
    )
}
