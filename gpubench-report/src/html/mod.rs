//! The page of a run: one HTML file that needs no network. Without its script, all figures are readable. The
//! script sorts and filters rows, and draws the samples of an opened row.

mod cases;
mod plots;
mod run;
mod view;

use std::io::{self, Write};

use gpubench_records::Run;
use maud::{DOCTYPE, PreEscaped, html};

use self::view::PageView;
use crate::drawing::{COLOUR_RULES, COLOURS, SHAPE_RULES};
use gpubench_table::text::plain;

/// The content security policy: the browser fetches nothing, whatever a name contains.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes the page of `run`.
pub(crate) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let view = PageView::new(run);
    let parts = [
        ("baseline", "Comparisons", run::comparisons(&view)),
        ("summary", "Summary", run::summary(&view)),
        ("cases", "Cases", cases::cases_section(&view)),
        ("sweeps", "Sweeps", plots::sweeps_section(&view)),
        ("roofline", "Roofline", plots::rooflines_section(&view)),
        ("method", "Method and environment", run::appendix(run)),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, _, part)| !part.0.is_empty()).collect();
    let title = title(run);
    let body = html! {
        a.skip href="#cases" { "Skip to the table" }
        header {
            h1 { (title) }
            button #theme.needs-script type="button" { "Theme" }
            nav aria-label="Parts of the page" {
                ul { @for (id, name, _) in &parts { li { a href={ "#" (id) } { (name) } } } }
            }
        }
        main {
            @for (id, name, part) in &parts {
                section id=(id) aria-labelledby={ (id) "-title" } { h2 id={ (id) "-title" } { (name) } (part) }
            }
        }
        footer { p.soft { "gpubench " (plain(&run.program.version)) } }
        script { (PreEscaped(include_str!("page.js"))) }
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(CONTENT_SECURITY_POLICY);
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(page_style())) }
                script { (PreEscaped("document.documentElement.classList.add('script')")) }
            }
            body { (body) }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

/// Returns the title: the benchmark binary and the devices.
fn title(run: &Run) -> String {
    let mut devices: Vec<_> = run.devices.iter().map(|info| plain(&info.name)).collect();
    devices.dedup();
    let suite = if run.program.suite.is_empty() { "gpubench".to_owned() } else { plain(&run.program.suite) };
    if devices.is_empty() { suite } else { format!("{suite} on {}", devices.join(", ")) }
}

/// Returns the style sheet, with the colours of drawings as variables: for light and dark, and for the theme
/// that the reader chose.
fn page_style() -> String {
    let [light, dark] = [0, 1].map(|shade| {
        COLOURS.iter().map(|(variable, shades)| format!("{variable}:{};", shades[shade])).collect::<String>()
    });
    format!(
        ":root{{{light}}}@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=dark]{{{dark}}}@media print{{:root:root{{{light}}}}}{SHAPE_RULES}{COLOUR_RULES}{}",
        include_str!("page.css")
    )
}
