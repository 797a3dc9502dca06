//! Calls as those who watch hear of them. Without a driver, nothing is captured and no kernel is known.

use super::*;
use crate::calls::serialize_tests;
use crate::{stream_ops, watch as watched};

fn stream(handle: usize) -> CUstream {
    std::ptr::without_provenance_mut(handle)
}

/// Without a driver, nothing is captured and no kernel is known.
#[test]
fn calls_are_told_in_order_to_who_watches() {
    let _alone = serialize_tests();
    let ((), calls) = watched(|| {
        add_enqueued(0, stream(7), Enqueued::Memset(64));
        add_blocking_work(0, Enqueued::CopyOut(0));
        add_enqueued(999, stream(7), Enqueued::Copy(8));
        add_stream_wait(0, stream(7));
        add_stream_wait(600, stream(7));
        add_stream_wait(600, stream(7));
        add_stream_destruction(0, stream(7));
        add_if_successful(0, DriverCall::Allocated);
        add_context_switch(0, std::ptr::null_mut());
    });
    let call = called_function();
    let on = |stream, work| DriverCall::Enqueued { stream, captured: false, work };
    assert_eq!(
        calls,
        [
            on(7, Enqueued::Memset(64)),
            on(0, Enqueued::CopyOut(0)),
            DriverCall::Waited { stream: Some(0), call },
            DriverCall::Failed { call, code: 999 },
            DriverCall::Waited { stream: Some(7), call },
            DriverCall::Polled { call, about: 7, times: 2 },
            DriverCall::Destroyed(7),
            DriverCall::Allocated(call),
        ]
    );
    add_enqueued(0, stream(7), Enqueued::Memset(64));
    assert_eq!(watched(|| ()).1, []);
}

#[test]
fn pieces_are_the_work_and_its_first_failure() {
    let _alone = serialize_tests();
    // SAFETY: without a driver no handle is followed.
    let ((), found) = stream_ops(|| unsafe {
        add_kernel_launch(0, stream(5).cast(), [1, 2, 3], [32, 1, 1], 16, stream(7));
        add_enqueued(0, stream(7), Enqueued::Copy(4096));
        add_enqueued(0, stream(7), Enqueued::Allocation);
        add_kernel_launch(1, stream(5).cast(), [1; 3], [2048, 1, 1], 0, stream(7));
        add_enqueued(2, stream(7), Enqueued::Memset(1));
    });
    let kernel =
        StreamOp::Kernel(Shape { function: 5, grid: [1, 2, 3], block: [32, 1, 1], dynamic_shared: 16 });
    assert_eq!(found.work, [(7, kernel), (7, StreamOp::Copy(4096))]);
    assert_eq!(found.failed, Some((called_function(), 1)));
}

#[test]
fn calls_of_other_threads_are_told_too() {
    let _alone = serialize_tests();
    let ((), calls) = watched(|| {
        let other = std::thread::spawn(|| {
            add_enqueued(0, stream(9), Enqueued::Memset(64));
        });
        other.join().expect("it ends");
    });
    let call = DriverCall::Enqueued { stream: 9, captured: false, work: Enqueued::Memset(64) };
    assert!(calls.contains(&call), "{calls:?}");
}

#[test]
fn a_panic_ends_the_watch() {
    let _alone = serialize_tests();
    let panicked = std::panic::catch_unwind(|| watched(|| panic!("as asked")));
    assert!(panicked.is_err() && watched_context().is_none());
}
