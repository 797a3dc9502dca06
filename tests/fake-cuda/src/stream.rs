//! Streams and events on the virtual clock. Work on the NULL stream waits for all streams that block with it,
//! and they for it.

use std::thread::{self, ThreadId};

use crate::code::{
    CAPTURE_IMPLICIT, CAPTURE_INVALIDATED, CAPTURE_ISOLATION, CAPTURE_UNSUPPORTED, CAPTURED_EVENT, Code,
    INVALID_HANDLE, NEVER,
};
use crate::driver::{Answer, Driver};
use crate::work::Work;

/// The handle of the NULL stream; 1 and 2 are names of it.
pub(crate) const NULL: usize = 0;
const ALIASES: [usize; 2] = [1, 2];
/// The flag of streams that do not wait for the NULL stream.
pub(crate) const NON_BLOCKING: u32 = 1;

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// When it can begin with more; infinite if it never can.
    pub(crate) done: f64,
    /// When all its work is done: an event that it ends with is passed before it can go on.
    pub(crate) idle: f64,
    /// Its last work was an event.
    pub(crate) after_event: bool,
    pub(crate) capture: Option<Capture>,
}

/// The capture of a stream, whose work is recorded and not done.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) graph: usize,
    pub(crate) thread: ThreadId,
    pub(crate) invalidated: bool,
    /// Of a stream that was drawn into another's capture.
    pub(crate) fork: Option<Fork>,
}

/// The work of a stream that joined another stream's capture, and how much of it that stream has waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fork {
    work: usize,
    joined: Option<usize>,
}

/// An event, and when it was recorded; or where in a capture.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) time: Option<f64>,
    pub(crate) place: Option<Place>,
}

/// The position of an event in a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    graph: usize,
    stream: usize,
    work: usize,
}

impl Stream {
    pub(crate) fn new(flags: u32, priority: i32) -> Self {
        Self { flags, priority, done: 0.0, idle: 0.0, after_event: false, capture: None }
    }

    fn blocks(&self) -> bool {
        self.flags & NON_BLOCKING == 0
    }
}

/// A stream's handle as it is kept.
pub(crate) fn named(stream: usize) -> usize {
    if ALIASES.contains(&stream) { NULL } else { stream }
}

impl Driver {
    pub(crate) fn stream(&mut self, stream: usize) -> Result<&mut Stream, Code> {
        self.streams.get_mut(&named(stream)).ok_or(INVALID_HANDLE)
    }

    /// Puts work on a stream.
    pub(crate) fn submit(&mut self, stream: usize, work: Work) -> Answer {
        let stream = named(stream);
        self.refuse_null(stream)?;
        let capture =
            self.stream(stream)?.capture.as_ref().map(|capture| (capture.graph, capture.invalidated));
        match capture {
            Some((_, true)) => Err(CAPTURE_INVALIDATED),
            Some((graph, false)) => {
                let graph = self.graphs.get_mut(&graph).ok_or(INVALID_HANDLE)?;
                graph.nodes.push(work);
                self.count_added(stream)
            }
            None => self.perform(stream, &work),
        }
    }

    /// Counts work that was added to the graph of a captured stream.
    pub(crate) fn count_added(&mut self, stream: usize) -> Answer {
        if self.stream(stream)?.capture.is_none() {
            return Err(INVALID_HANDLE);
        }
        if let Some(fork) = self.fork(stream)? {
            fork.work += 1;
        }
        Ok(())
    }

    fn fork(&mut self, stream: usize) -> Result<Option<&mut Fork>, Code> {
        Ok(self.stream(stream)?.capture.as_mut().and_then(|capture| capture.fork.as_mut()))
    }

    /// Has an event stand for a place in the capture of its stream, if that is captured. Such an event has no time.
    pub(crate) fn record_place(&mut self, event: usize, stream: usize) -> Result<bool, Code> {
        let graph = self.stream(stream)?.capture.as_ref().map(|capture| capture.graph);
        let work = self.fork(stream)?.map_or(0, |fork| fork.work);
        let event = self.event(event)?;
        event.place = graph.map(|graph| Place { graph, stream: named(stream), work });
        if graph.is_some() {
            event.time = None;
        }
        Ok(graph.is_some())
    }

    /// Has a stream wait for an event. One that waits for a place in a capture is drawn into it, and one of that capture
    /// has then waited for the work before that place. One that is captured may not wait for what was recorded outside of any.
    pub(crate) fn wait_for_event(&mut self, stream: usize, event_id: usize) -> Answer {
        let event = self.event(event_id)?;
        let (place, recorded) = (event.place, event.time.is_some());
        let own = self.stream(stream)?;
        let Some(place) = place else {
            if let Some(capture) = own.capture.as_mut().filter(|_| recorded) {
                capture.invalidated = true;
                return Err(CAPTURE_ISOLATION);
            }
            return self.submit(stream, Work::Wait(event_id));
        };
        match &own.capture {
            None => {
                let (graph, thread) = (place.graph, thread::current().id());
                let fork = Some(Fork::default());
                own.capture = Some(Capture { graph, thread, invalidated: false, fork });
            }
            Some(capture) if capture.graph != place.graph => return Err(CAPTURE_ISOLATION),
            Some(_) => {
                if let Some(fork) = self.fork(place.stream)? {
                    fork.joined = fork.joined.max(Some(place.work));
                }
            }
        }
        Ok(())
    }

    /// Ends the capture of all streams that were drawn into this graph's; whether all their work is waited for.
    pub(crate) fn join_forks(&mut self, graph: usize) -> bool {
        let mut all = true;
        for stream in self.streams.values_mut() {
            let fork =
                stream.capture.as_ref().filter(|capture| capture.graph == graph).and_then(|it| it.fork);
            if let Some(Fork { work, joined }) = fork {
                all &= joined == Some(work);
                stream.capture = None;
            }
        }
        all
    }

    /// Does work now.
    pub(crate) fn perform(&mut self, stream: usize, work: &Work) -> Answer {
        let begin = self.begin(stream);
        let duration = self.work(stream, begin, work)?;
        let passed = match work {
            Work::Record(event) => self.event(*event)?.time,
            _ => None,
        };
        let stream = self.stream(stream)?;
        stream.done = begin + duration;
        stream.idle = passed.unwrap_or(stream.done);
        stream.after_event = passed.is_some();
        Ok(())
    }

    /// When a stream can begin with what is put on it now.
    pub(crate) fn begin(&self, stream: usize) -> f64 {
        let own = &self.streams[&stream];
        let others = self.streams.iter().filter(|(other, it)| match (stream, **other) {
            (NULL, _) => it.blocks(),
            (_, NULL) => own.blocks(),
            (stream, other) => stream == other,
        });
        others.map(|(_, other)| other.done).fold(self.now.max(own.done), f64::max)
    }

    /// Work on the NULL stream would have to wait for streams that are captured, and costs their capture.
    pub(crate) fn refuse_null(&mut self, stream: usize) -> Answer {
        let waits = named(stream) == NULL;
        let captured = self.streams.values_mut().filter(|stream| waits && stream.blocks());
        let mut captures: Vec<_> = captured.filter_map(|stream| stream.capture.as_mut()).collect();
        captures.iter_mut().for_each(|capture| capture.invalidated = true);
        if captures.is_empty() { Ok(()) } else { Err(CAPTURE_IMPLICIT) }
    }

    /// Refuses a call that a thread must not make while it captures. The call invalidates the capture.
    pub(crate) fn refuse_while_capturing(&mut self) -> Answer {
        let this = thread::current().id();
        let captures = self.streams.values_mut().filter_map(|stream| stream.capture.as_mut());
        let mut captures: Vec<_> = captures.filter(|capture| capture.thread == this).collect();
        captures.iter_mut().for_each(|capture| capture.invalidated = true);
        if captures.is_empty() { Ok(()) } else { Err(CAPTURE_UNSUPPORTED) }
    }

    /// Refuses a call on a stream that is captured. The call invalidates the capture.
    pub(crate) fn refuse_if_captured(&mut self, stream: usize) -> Answer {
        match &mut self.stream(stream)?.capture {
            Some(capture) => {
                capture.invalidated = true;
                Err(CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Refuses to wait for a stream, or to tell its state, while this thread captures one.
    pub(crate) fn refuse_wait(&mut self, stream: usize) -> Answer {
        self.refuse_if_captured(stream)?;
        self.refuse_null(stream)?;
        self.refuse_while_capturing()
    }

    /// Tells whether an event stands for a place in a capture that goes on.
    pub(crate) fn is_captured(&self, event: usize) -> bool {
        let graph = self.events.get(&event).and_then(|event| event.place).map(|place| place.graph);
        let mut captures = self.streams.values().filter_map(|stream| stream.capture.as_ref());
        graph.is_some_and(|graph| captures.any(|capture| capture.graph == graph))
    }

    /// Refuses a call on an event of a capture that goes on. The call invalidates the capture.
    pub(crate) fn refuse_captured_event(&mut self, event: usize) -> Answer {
        if !self.is_captured(event) {
            return Ok(());
        }
        self.refuse_while_capturing().or(Err(CAPTURED_EVENT))
    }

    /// Invalidates the capture of a stream, if it is captured: a call on it has failed.
    pub(crate) fn invalidate(&mut self, stream: usize) {
        if let Some(capture) = self.streams.get_mut(&named(stream)).and_then(|stream| stream.capture.as_mut())
        {
            capture.invalidated = true;
        }
    }

    /// Has the host wait for a stream.
    pub(crate) fn wait_for(&mut self, stream: usize) -> Answer {
        let done = self.begin(named(stream));
        self.wait_until(done)
    }

    /// Has the host wait for everything.
    pub(crate) fn wait_for_all(&mut self) -> Answer {
        let done = self.streams.values().map(|stream| stream.done).fold(self.now, f64::max);
        self.wait_until(done)
    }

    /// Has the host wait until a time.
    pub(crate) fn wait_until(&mut self, time: f64) -> Answer {
        if time.is_infinite() {
            return Err(NEVER);
        }
        self.now = self.now.max(time);
        // What went wrong on the device is told to who waits for it, and to everybody after.
        self.lost = self.lost.or(self.doomed);
        self.lost.map_or(Ok(()), Err)
    }
}
