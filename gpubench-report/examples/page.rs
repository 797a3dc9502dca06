//! Writes the page of a stored run.
//!
//! ```sh
//! cargo run -p gpubench-report --example page docs/results/h200/suite.json > page.html
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::{env, fs};

use gpubench_records::record::Run;
use gpubench_report::export::HTML;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let json = fs::read(args.next().ok_or("name the file of a run")?)?;
    let run = match args.next() {
        None => Run::parse(&json)?,
        Some(number) => {
            let mut runs: Vec<serde_json::Value> = serde_json::from_slice(&json)?;
            Run::parse(&serde_json::to_vec(&runs.swap_remove(number.parse()?))?)?
        }
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    (HTML.write)(&run, &mut out)?;
    Ok(out.flush()?)
}
