//! A suite that is killed at random moments, itself or its worker, while clocks jump and the disk fills up,
//! and resumed until nothing is left. The clock is libfaketime's (Debian: `libfaketime`). A disk of its own
//! needs a process that may mount one; without it files have a limit instead.
//!
//!     GPUBENCH_KILLS=500 GPUBENCH_KILLS_SEED=1 cargo test -p protocol --test all -- --ignored --nocapture killed::

mod ledger;
mod life;
mod place;

use std::env;

use end_to_end::here;
use end_to_end::reliability::row;
use rand::SeedableRng;
use rand::rngs::StdRng;

use self::ledger::Ledger;
use self::life::{Life, Tally};
use self::place::{Place, Planned};

/// The number of kills, unless the user names another.
const KILLS: u64 = 20;

fn asked(name: &str, usual: u64) -> u64 {
    match env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|error| panic!("{name}={value}: {error}")),
        Err(_) => usual,
    }
}

#[ignore = "takes a second for each two kills, and needs libfaketime"]
#[expect(clippy::print_stdout, reason = "its figures are read by whoever runs it")]
#[test]
fn kills_at_any_moment_lose_double_and_alter_nothing() {
    let (kills, seed) = (asked("GPUBENCH_KILLS", KILLS), asked("GPUBENCH_KILLS_SEED", 1));
    let mut random = StdRng::seed_from_u64(seed);
    let mut tally = Tally::default();
    let planned = Place::new().undisturbed();
    while tally.kills() < kills {
        run_until_complete(&planned, &mut random, &mut tally);
    }
    println!("seed {seed}: {tally}");
    row(
        here!(),
        "suite or worker killed at any moment, over and over",
        "measured by the next worker, or when the run is resumed",
        "each once, and to the byte as it was first stored",
    );
}

/// Runs the suite and resumes it, however often it is killed, until all cases are stored.
fn run_until_complete(planned: &Planned, random: &mut StdRng, tally: &mut Tally) {
    let place = Place::new();
    let mut ledger = Ledger::default();
    while !ledger.has(&planned.cases) {
        let life = Life::random(random, planned.took);
        let ended = life.live(&place, ledger.has_runs(), tally);
        let told = format!("{life:?}, then {ended}");
        ledger.look(&place.runs, &told);
        life.assert_end(&ended, tally, &told);
        place.empty_disk();
    }
    place.assert_nobody_is_left();
    ledger.assert_reported(&place.resumed());
    tally.runs += 1;
    tally.records += planned.cases.len();
}
