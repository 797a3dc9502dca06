//! Launch functions in every form that they are found in, each of which lets a number of steps pass that no other does.

use std::error::Error;
use std::rc::Rc;

use end_to_end::clockwork::{Clockwork, STEP};
use gpubench::gpu_bench;

gpubench::main!();

/// Lets `steps` of the clock pass.
fn pass(stream: &Clockwork, steps: u64) {
    stream.advance(STEP * steps);
}

#[gpu_bench(setup = Ok((vec![100_u64; 4], Rc::new(1), [2_u64], Box::new(3), (4, "five"), None)))]
fn of_any_arity(
    slice: &[u64],
    shared: Rc<u64>,
    array: &mut [u64],
    boxed: &u64,
    (pair, text): (u64, &str),
    _: Option<u8>,
    stream: &Clockwork,
) {
    assert_eq!((array[0], text), (2, "five"));
    pass(stream, slice.iter().sum::<u64>() / 4 + *shared + array[0] + boxed + pair);
}

#[gpu_bench(stream = first)]
fn whose_stream_is_first(first: &Clockwork) {
    pass(first, 120);
}

#[gpu_bench]
fn whose_stream_is_taken(stream: Clockwork) {
    pass(&stream, 130);
}

#[gpu_bench(args(r#type = [140]))]
fn r#match(r#type: u64, stream: &Clockwork) {
    pass(stream, r#type);
}

#[gpu_bench]
fn that_has_boxed_errors(stream: &Clockwork) -> Result<usize, Box<dyn Error + Send + Sync>> {
    pass(stream, "150".parse()?);
    Ok(0)
}

#[gpu_bench(setup = Ok(|stream: &Clockwork| pass(stream, 160)))]
fn of_a_closure(launch: &impl Fn(&Clockwork), stream: &Clockwork) {
    launch(stream);
}

/// As many launches of others as it likes.
#[gpu_bench]
fn of_several_launches(stream: &Clockwork) {
    whose_stream_is_first(stream);
    pass(stream, 50);
}

mod private {
    use super::{Clockwork, gpu_bench, pass};

    #[gpu_bench]
    pub(in crate::private) fn unseen_outside(stream: &Clockwork) {
        pass(stream, 180);
    }

    #[expect(dead_code, reason = "what is nested in it counts")]
    fn outer() {
        #[gpu_bench]
        fn nested(stream: &Clockwork) {
            pass(stream, 190);
        }
    }
}

macro_rules! written_by_a_macro {
    ($($name:ident $steps:literal)*) => {$(
        #[gpu_bench(args(steps = [$steps]))]
        fn $name(steps: u64, stream: &Clockwork) {
            pass(stream, steps);
        }
    )*};
}
written_by_a_macro! { twenty 200 twenty_one 210 }

#[gpu_bench]
#[cfg(any())]
fn left_out(stream: &NoSuchType) {}

#[cfg_attr(all(), gpu_bench)]
#[cfg(not(any()))]
fn under_a_condition(stream: &Clockwork) {
    pass(stream, 220);
}
