//! The errors of a search for a commit.

/// A search that has nothing to find.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BisectError {
    /// The first comparison, of the commits that the user named, shows no change.
    #[error("{bad} shows no change from {good} that a search could find{}", listed(case, rows))]
    Unchanged { case: String, good: String, bad: String, rows: Vec<String> },
}

fn listed(case: &str, rows: &[String]) -> String {
    match rows {
        [] => format!(": no case of both matches `{case}`"),
        rows => rows.iter().map(|row| format!("\n  {row}")).collect(),
    }
}
