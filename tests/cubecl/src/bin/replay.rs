//! Prints what a replay takes as the libraries launch it: many replays between two waits, by the host's clock, in µs.
//! The time holds the gap between two launches. Compare it with the column *back-to-back* of a hot row.

use std::time::{Duration, Instant};

use hidden_cubecl::Error;

fn main() -> Result<(), Error> {
    for n in [1 << 14, 1 << 20, 1 << 22, 1 << 26] {
        let captured = hidden_cubecl::saxpy::Captured::new(n, 0)?;
        println!("saxpy[n={n}] {:.3}", time(captured, |it| it.replay(), |it| it.wait())?);
    }
    #[cfg(feature = "burn")]
    for n in [512, 4096] {
        for data_type in ["f32", "f16"] {
            let captured = hidden_cubecl::matmul::Captured::new(n, data_type, 0)?;
            println!(
                "matmul[n={n}, data_type={data_type}] {:.3}",
                time(captured, |it| it.replay(), |it| it.wait())?
            );
        }
    }
    Ok(())
}

/// Returns the median of eleven times, each of as many replays as take a tenth of a second.
fn time<T>(
    mut it: T,
    replay: fn(&mut T) -> Result<(), Error>,
    wait: fn(&T) -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut run = |count: u32| -> Result<Duration, Error> {
        wait(&it)?;
        let start = Instant::now();
        (0..count).try_for_each(|_| replay(&mut it))?;
        wait(&it)?;
        Ok(start.elapsed() / count)
    };
    let each = run(100)?.max(Duration::from_nanos(100));
    let count = (Duration::from_millis(100).as_nanos() / each.as_nanos()).clamp(10, 50_000) as u32;
    let mut times = (0..11).map(|_| run(count)).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    Ok(times[5].as_secs_f64() * 1e6)
}
