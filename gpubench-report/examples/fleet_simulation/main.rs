//! Finds slow GPUs in simulated fleets, whose truth is known: 100 fleets of each scenario, or as many as the first argument
//! says. Prints `docs/results/fleet/simulation.txt`.

#![expect(clippy::print_stdout, reason = "a program that prints its results")]

mod simulated;

use std::env;

use self::simulated::{Scenario, Score, Simulated, USUAL, slow_gpus};

fn main() {
    let fleets: u64 = env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100);
    let scenarios = [
        USUAL,
        Scenario { name: "no GPU is slow", slow_everywhere: 0, slow_on_one: 0, ..USUAL },
        Scenario { name: "heavy tails (t, 5 degrees)", tails: Some(5.0), ..USUAL },
        Scenario { name: "compute spreads by 22 %", compute: 22.0 / 8.0, ..USUAL },
        Scenario {
            name: "16 GPUs, 3 processes each",
            gpus: 16,
            processes: 3,
            slow_everywhere: 1,
            slow_on_one: 1,
            ..USUAL
        },
    ];
    println!(
        "{fleets} fleets of each kind; 120 cases on 7 roofs; 3 % slow everywhere, 10 % slow on one roof"
    );
    println!(
        "\n{:28}{:32}{:>15}{:>15}{:>8}{:>8}{:>8}",
        "spread between GPUs", "rule", "3 % found", "10 % found", "called", "wrong", "share"
    );
    for scenario in scenarios {
        let mut scores = [Score::default(); 3];
        for seed in 0..fleets {
            let fleet = Simulated::new(scenario, seed);
            fleet.score(&mut scores[0], &slow_gpus(&fleet.judged()));
            fleet.score(&mut scores[1], &fleet.beyond_one_sigma_and_a_tenth());
            fleet.score(&mut scores[2], &fleet.a_tenth_below_the_best());
        }
        let rules = ["gpubench", "1 σ and 10 % above the mean", "10 % below the best"];
        for (number, (rule, score)) in rules.into_iter().zip(scores).enumerate() {
            let name = if number == 0 { scenario.name } else { "" };
            let of = |found: usize, planted: usize| format!("{found} of {planted}");
            println!(
                "{name:28}{rule:32}{:>15}{:>15}{:>8}{:>8}{:>8}",
                of(score.everywhere, score.planted_everywhere),
                of(score.on_one, score.planted_on_one),
                score.found,
                score.wrong,
                format!("{:.1} %", 100.0 * score.wrong as f64 / score.found.max(1) as f64),
            );
        }
    }
}
