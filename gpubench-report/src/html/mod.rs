//! The page: one HTML file that shows a run in a browser, without a network. In: a run; out: a summary, a table that is
//! sorted, filtered and opened row by row, drawings of all rows together, and method and figures at the end. It is read
//! without its script too, which sorts, filters and draws the samples of a row when that is opened.

mod appendix;
mod baseline;
mod cases;
mod details;
mod links;
mod medians;
mod roofline;
mod samples;
mod summary;
mod sweeps;
mod view;

use std::io::{self, Write};

use gpubench_records::record::Run;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::view::View;
use crate::drawing::{COLOURED, COLOURS, SHAPES};
use gpubench_table::text::plain;

/// The browser fetches nothing, whatever a name contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes the page of `run`.
pub(crate) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(run).into_string().as_bytes())
}

fn page(run: &Run) -> Markup {
    let view = View::of(run);
    let parts = [
        ("cases", "Cases", cases::cases(&view)),
        ("sweeps", "Sweeps", sweeps::sweeps(&view)),
        ("roofline", "Roofline", roofline::rooflines(&view)),
        ("medians", "Bandwidth", medians::medians(&view)),
        ("links", "Links", links::links(&view)),
        ("energy", "Energy", medians::energy(&view)),
        ("baseline", "Comparisons", baseline::baseline(&view)),
        ("method", "Method", appendix::appendix(run)),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, _, part)| !part.0.is_empty()).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (title(run)) }
                style { (PreEscaped(style())) }
                script { (PreEscaped("document.documentElement.classList.add('script')")) }
            }
            body {
                a.skip href="#cases" { "Skip to the table" }
                header {
                    h1 { (title(run)) }
                    button #theme.needs-script type="button" { "Theme" }
                    nav aria-label="Parts of the page" {
                        ul { @for (id, name, _) in &parts { li { a href={ "#" (id) } { (name) } } } }
                    }
                }
                main {
                    (summary::summary(&view))
                    @for (_, _, part) in &parts { (part) }
                }
                footer { p.soft { "gpubench " (plain(&run.program.version)) } }
                script { (PreEscaped(include_str!("page.js"))) }
            }
        }
    }
}

fn title(run: &Run) -> String {
    let mut devices: Vec<_> = run.devices.iter().map(|info| plain(&info.name)).collect();
    devices.dedup();
    let suite = if run.program.suite.is_empty() { "gpubench".to_owned() } else { plain(&run.program.suite) };
    if devices.is_empty() { suite } else { format!("{suite} on {}", devices.join(", ")) }
}

/// The style, with the colours of drawings as variables: for light, for dark, and for the reader's own choice.
pub(crate) fn style() -> String {
    let (light, dark) = (variables(|colour| colour.1), variables(|colour| colour.2));
    format!(
        ":root{{{light}}}@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=dark]{{{dark}}}@media print{{:root:root{{{light}}}}}{SHAPES}{COLOURED}{}",
        include_str!("page.css")
    )
}

fn variables(of: fn(&(&'static str, &'static str, &'static str)) -> &'static str) -> String {
    COLOURS.iter().map(|colour| format!("{}:{};", colour.0, of(colour))).collect()
}
