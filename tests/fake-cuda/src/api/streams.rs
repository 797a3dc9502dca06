//! Streams, events, and the capture of streams.

use std::ffi::{c_int, c_void};
use std::thread;

use crate::call::{Out, exports};
use crate::code::{
    CAPTURE_INVALIDATED, CAPTURE_UNJOINED, CAPTURE_UNSUPPORTED, CAPTURE_WRONG_THREAD, CAPTURED_EVENT,
    INVALID_HANDLE, INVALID_VALUE, NOT_READY,
};
use crate::model::shown;
use crate::stream::{Capture, Event, NULL, Stream, named};
use crate::work::{HostFunction, Work};

/// `CU_EVENT_RECORD_EXTERNAL`.
const EXTERNAL: u32 = 1;

/// The states of a stream's capture.
const NONE: u32 = 0;
const ACTIVE: u32 = 1;
const INVALIDATED: u32 = 2;

exports! {
    fn cuStreamCreate(driver, stream: Out<usize>, flags: u32) {
        let handle = driver.handle();
        driver.streams.insert(handle, Stream::new(flags, 0));
        stream.set(handle)
    }

    fn cuStreamCreateWithPriority(driver, stream: Out<usize>, flags: u32, priority: c_int) {
        let handle = driver.handle();
        driver.streams.insert(handle, Stream::new(flags, priority));
        stream.set(handle)
    }

    // Nothing is kept in the fake's L2, whatever is asked.
    fn cuStreamSetAttribute(driver, stream: usize, _attribute: u32, _value: *const c_void) {
        driver.stream(stream).map(drop)
    }

    // A profiler that looks on finds these in the log.
    fn cuProfilerStart(driver) { Ok(()) }

    fn cuProfilerStop(driver) { Ok(()) }

    fn cuStreamDestroy_v2(driver, stream: usize) {
        if named(stream) == NULL {
            return Err(INVALID_HANDLE);
        }
        driver.streams.remove(&stream).map(drop).ok_or(INVALID_HANDLE)
    }

    fn cuStreamGetFlags(driver, stream: usize, flags: Out<u32>) { flags.set(driver.stream(stream)?.flags) }

    fn cuStreamGetPriority(driver, stream: usize, priority: Out<c_int>) {
        priority.set(driver.stream(stream)?.priority)
    }

    // A thread that captures one stream may neither wait for any nor ask for its state, as an H200's driver has it.
    fn cuStreamSynchronize(driver, stream: usize) {
        driver.refuse_wait(stream)?;
        driver.wait_for(stream)
    }

    fn cuStreamQuery(driver, stream: usize) {
        driver.refuse_wait(stream)?;
        let idle = driver.stream(stream)?.idle;
        if idle <= driver.now { Ok(()) } else { Err(NOT_READY) }
    }

    fn cuStreamWaitEvent(driver, stream: usize, event: usize, _flags: u32) {
        driver.wait_for_event(stream, event)
    }

    fn cuLaunchHostFunc(driver, stream: usize, function: Option<HostFunction>, data: usize) {
        driver.submit(stream, Work::HostFunction(function.ok_or(INVALID_VALUE)?, data))
    }

    fn cuStreamBeginCapture_v2(driver, stream: usize, _mode: u32) {
        if named(stream) == NULL || driver.stream(stream)?.capture.is_some() {
            return Err(CAPTURE_UNSUPPORTED);
        }
        let graph = driver.new_graph();
        let thread = thread::current().id();
        driver.stream(stream)?.capture = Some(Capture { graph, thread, invalidated: false, fork: None });
        Ok(())
    }

    fn cuStreamEndCapture(driver, stream: usize, graph: Out<usize>) {
        let capture = &mut driver.stream(stream)?.capture;
        if capture.as_ref().is_some_and(|capture| capture.thread != thread::current().id()) {
            return Err(CAPTURE_WRONG_THREAD);
        }
        if capture.as_ref().is_some_and(|capture| capture.fork.is_some()) {
            return Err(INVALID_VALUE);
        }
        let capture = capture.take().ok_or(INVALID_VALUE)?;
        let joined = driver.join_forks(capture.graph);
        if capture.invalidated || !joined {
            driver.destroy_graph(capture.graph)?;
            graph.offer(0);
            return Err(if capture.invalidated { CAPTURE_INVALIDATED } else { CAPTURE_UNJOINED });
        }
        graph.set(capture.graph)
    }

    fn cuStreamIsCapturing(driver, stream: usize, status: Out<u32>) {
        let capture = &driver.stream(stream)?.capture;
        status.set(capture.as_ref().map_or(NONE, |capture| if capture.invalidated { INVALIDATED } else { ACTIVE }))
    }

    fn cuStreamGetCaptureInfo_v2(
        driver,
        stream: usize,
        status: Out<u32>,
        id: Out<u64>,
        graph: Out<usize>,
        dependencies: Out<usize>,
        dependency_count: Out<usize>,
    ) {
        let capture = &driver.stream(stream)?.capture;
        status.set(capture.as_ref().map_or(NONE, |capture| if capture.invalidated { INVALIDATED } else { ACTIVE }))?;
        if let Some(capture) = capture.as_ref().filter(|capture| !capture.invalidated) {
            id.offer(capture.graph as u64);
            graph.offer(capture.graph);
            dependencies.offer(0);
            dependency_count.offer(0);
        }
        Ok(())
    }

    // Whatever a stream waits for, the nodes run in the order in which they were added.
    fn cuStreamUpdateCaptureDependencies(
        driver,
        stream: usize,
        _dependencies: *const usize,
        _count: usize,
        _flags: u32,
    ) {
        driver.count_added(stream)
    }

    fn cuEventCreate(driver, event: Out<usize>, _flags: u32) {
        let handle = driver.handle();
        driver.events.insert(handle, Event::default());
        event.set(handle)
    }

    fn cuEventDestroy_v2(driver, event: usize) { driver.events.remove(&event).map(drop).ok_or(INVALID_HANDLE) }

    // While its stream is captured, an event stands for a place in the graph and has no time.
    fn cuEventRecord(driver, event: usize, stream: usize) {
        if driver.record_place(event, stream)? { Ok(()) } else { driver.submit(stream, Work::Record(event)) }
    }

    fn cuEventRecordWithFlags(driver, event: usize, stream: usize, flags: u32) {
        if flags != EXTERNAL && driver.record_place(event, stream)? {
            return Ok(());
        }
        driver.event(event)?.place = None;
        driver.submit(stream, Work::Record(event))
    }

    fn cuEventQuery(driver, event: usize) {
        driver.refuse_captured_event(event)?;
        driver.refuse_while_capturing()?;
        let now = driver.now;
        if driver.event(event)?.time.is_none_or(|time| time <= now) { Ok(()) } else { Err(NOT_READY) }
    }

    fn cuEventSynchronize(driver, event: usize) {
        driver.refuse_captured_event(event)?;
        driver.refuse_while_capturing()?;
        let time = driver.event(event)?.time;
        time.map_or(Ok(()), |time| driver.wait_until(time))
    }

    fn cuEventElapsedTime(driver, milliseconds: Out<f32>, start: usize, end: usize) {
        if driver.is_captured(start) || driver.is_captured(end) {
            return Err(CAPTURED_EVENT);
        }
        let mut time = |event| driver.event(event)?.time.ok_or(INVALID_HANDLE);
        let (start, end) = (time(start)?, time(end)?);
        if end > driver.now {
            return Err(NOT_READY);
        }
        milliseconds.set(((shown(end, driver.config.step) - shown(start, driver.config.step)) * 1e-6) as f32)
    }
}
