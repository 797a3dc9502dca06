//! A suite whose benchmarks leave their process in another state than they found it, or fail for reasons that are not theirs.
//! Those whose names begin with `after` find nothing of it.

use std::arch::asm;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, Once};
use std::time::Duration;
use std::{env, fs, hint, process, thread};

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;

gpubench::main!();

const LAUNCH: u64 = 3_200;

/// Each case leaves one thing changed, and finds no process in which another has.
#[gpu_bench(args(what = ["denormals", "rounding", "thread", "nothing"]))]
fn leaves_one_thing(stream: &Clockwork, what: &str) -> Result<(), String> {
    static LEFT: Mutex<Option<String>> = Mutex::new(None);

    stream.advance(LAUNCH);
    match LEFT.lock().expect("no panic").replace(what.to_owned()) {
        Some(earlier) if earlier != what => return Err(format!("in the process of `{earlier}`")),
        _ => {}
    }
    match what {
        "denormals" => control_arithmetic(0x8040, 1 << 24),
        "rounding" => control_arithmetic(0x2000, 1 << 23),
        "thread" => {
            static SPINS: Once = Once::new();
            SPINS.call_once(|| {
                thread::spawn(|| {
                    loop {
                        hint::spin_loop();
                    }
                });
            });
        }
        _ => {}
    }
    Ok(())
}

/// Sets these bits of the floating-point control beside the usual ones, as a library in C may.
#[expect(unsafe_code, reason = "writes a register")]
fn control_arithmetic(x86: u32, arm: u64) {
    _ = (x86, arm);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: exceptions stay masked.
    unsafe {
        let control = x86 | 0x1f80;
        asm!("ldmxcsr [{}]", in(reg) &raw const control);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: exceptions stay masked.
    unsafe {
        asm!("msr fpcr, {}", in(reg) arm);
    }
}

/// Sets a hook that hides panics.
#[gpu_bench]
fn hides_panics(stream: &Clockwork) {
    stream.advance(LAUNCH);
    std::panic::set_hook(Box::new(|_| ()));
}

#[gpu_bench]
fn panics_after_that(stream: &Clockwork) {
    stream.advance(LAUNCH);
    panic!("it is not hidden");
}

/// As `cargo clean` does in another terminal.
#[gpu_bench]
fn removes_the_runs(stream: &Clockwork) {
    stream.advance(LAUNCH);
    if let Some(runs) = env::var_os("GPUBENCH_RUNS_DIR") {
        // It fails from the second launch on.
        _ = fs::remove_dir_all(runs);
    }
}

/// It ends the process while another benchmark is measured.
#[gpu_bench]
#[expect(unsafe_code, reason = "sets an alarm, as a library in C may")]
fn leaves_an_alarm(stream: &Clockwork) {
    unsafe extern "C" {
        fn alarm(seconds: u32) -> u32;
    }
    stream.advance(LAUNCH);
    // SAFETY: it touches no memory.
    unsafe { alarm(1) };
}

#[gpu_bench]
fn after_an_alarm(stream: &Clockwork) {
    stream.advance(LAUNCH);
    sleep_once(Duration::from_millis(1_500));
}

/// Sleeps in the first launch of this process.
fn sleep_once(time: Duration) {
    static SLEPT: Once = Once::new();
    SLEPT.call_once(|| thread::sleep(time));
}

#[gpu_bench(cold)]
fn panics_in_a_thread(stream: &Clockwork) {
    stream.advance(LAUNCH);
    if stream.sampled().is_none() {
        // Nobody waits for it.
        drop(thread::spawn(|| panic!("nobody waits")));
        thread::sleep(Duration::from_millis(100));
    }
}

/// Its thread panics while another benchmark is measured.
#[gpu_bench]
fn panics_later(stream: &Clockwork) {
    stream.advance(LAUNCH);
    if stream.sampled().is_none() {
        drop(thread::spawn(|| {
            thread::sleep(Duration::from_millis(1_500));
            panic!("it is another's turn")
        }));
    }
}

#[gpu_bench]
fn after_a_thread(stream: &Clockwork) {
    stream.advance(LAUNCH);
    sleep_once(Duration::from_millis(2_000));
}

/// As where another program held the memory that it needs.
#[gpu_bench]
fn fails_once(stream: &Clockwork) -> Result<(), &'static str> {
    stream.advance(LAUNCH);
    if is_first("fails") { Err("out of memory for once") } else { Ok(()) }
}

#[gpu_bench]
fn aborts_once(stream: &Clockwork) {
    stream.advance(LAUNCH);
    if is_first("aborts") {
        process::abort();
    }
}

/// Returns true the first time that any process asks, if the test gives a folder to remember it.
fn is_first(name: &str) -> bool {
    env::var("LEAVES_FOLDER").is_ok_and(|folder| File::create_new(Path::new(&folder).join(name)).is_ok())
}
