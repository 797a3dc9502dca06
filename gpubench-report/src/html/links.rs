//! The links between devices as heat maps: a cell for each two, the darker the closer to the link's peak. In: a run; out: a
//! table for each benchmark with a `peer`.

use maud::{Markup, html};

use super::view::View;
use gpubench_table::links::{Cell, DIRECTIONS, Matrix, matrices, shown};
use gpubench_table::text::plain;

pub(super) fn links(view: &View<'_>) -> Markup {
    let matrices = matrices(view.run);
    html! {
        @if !matrices.is_empty() {
            section #links aria-labelledby="links-title" {
                h2 #links-title { "Links between devices" }
                p.soft {
                    "GB/s between each two devices, and the share of the link's peak. " (DIRECTIONS)
                }
                @for matrix in &matrices { (map(view, matrix)) }
            }
        }
    }
}

fn map(view: &View<'_>, matrix: &Matrix) -> Markup {
    html! {
        div.scroll {
            table.heat {
                caption { (plain(view.short(&matrix.name))) }
                thead {
                    tr {
                        td {}
                        @for column in 0..matrix.cells.len() { th scope="col" { (matrix.device(column)) } }
                    }
                }
                tbody {
                    @for (row, cells) in matrix.cells.iter().enumerate() {
                        tr {
                            th scope="row" { (matrix.device(row)) }
                            @for cell in cells { (pair(cell.as_ref())) }
                        }
                    }
                }
            }
        }
    }
}

fn pair(cell: Option<&Cell>) -> Markup {
    match cell {
        None => html! { td { "–" } },
        Some(cell) => {
            let share = cell.share.unwrap_or_default().clamp(0.0, 1.0);
            html! { td style={ "--share:" (format!("{:.0}%", 60.0 * share)) } { (shown(*cell)) } }
        }
    }
}
