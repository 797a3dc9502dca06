//! The state of the driver, behind one lock, and the code that every call has in common.
//!
//! Each GPU has a state of its own. A call reaches that of the current context alone, so that a handle or an address of
//! another GPU is unknown there and refused.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::code::{Code, INVALID_CONTEXT, INVALID_HANDLE, NEVER, NOT_INITIALIZED, SUCCESS};
use crate::config::{Config, Fault};
use crate::delays::Delayed;
use crate::graph::{Executable, Graph};
use crate::l2::L2;
use crate::log::Log;
use crate::memory::Memory;
use crate::model::Unrest;
use crate::ptx::Entry;
use crate::stream::{Event, NULL, Stream};

/// The result of a call: nothing, or the code of its failure.
pub(crate) type Answer = Result<(), Code>;

/// When the device's clock begins: not at a multiple of its step.
pub(crate) const BEGIN: f64 = 1e9 + 5.0;

/// The handle of the first GPU's primary context; those of the others follow.
pub(crate) const PRIMARY: usize = 0xc0;

/// The distance of the handle of a primary context from those of the other contexts of its GPU.
pub(crate) const CONTEXTS_APART: usize = 0x100;

/// The number of contexts that were created beside the primary ones.
static CREATED: AtomicUsize = AtomicUsize::new(0);

/// The distance of the handles of one GPU from those of the next.
const HANDLES: usize = 0x100_0000;

/// The state of one GPU and its primary context.
#[derive(Debug)]
pub(crate) struct Driver {
    /// Its number.
    pub(crate) ordinal: usize,
    pub(crate) config: Config,
    pub(crate) log: Log,
    pub(crate) memory: Memory,
    pub(crate) l2: L2,
    pub(crate) unrest: Unrest,
    pub(crate) delayed: Delayed,
    /// The device's time that the host has seen, in nanoseconds.
    pub(crate) now: f64,
    pub(crate) streams: BTreeMap<usize, Stream>,
    pub(crate) events: HashMap<usize, Event>,
    pub(crate) graphs: HashMap<usize, Graph>,
    pub(crate) executables: HashMap<usize, Executable>,
    /// The kernels of each module, by their handles.
    pub(crate) modules: HashMap<usize, Vec<(usize, Arc<Entry>)>>,
    pub(crate) functions: HashMap<usize, Arc<Entry>>,
    /// The dynamic shared memory that a block of a kernel was allowed, where that was asked for.
    pub(crate) allowed_shared: HashMap<usize, u32>,
    /// The code with which the context was lost.
    pub(crate) lost: Option<Code>,
    /// The code with which it is lost as soon as somebody waits for the device.
    pub(crate) doomed: Option<Code>,
    pub(crate) initialised: bool,
    /// The other GPUs whose memory it reaches, in the order in which that was allowed.
    pub(crate) reaches: Vec<usize>,
    /// The bytes of the L2 that may be set aside for persisting accesses. The model evicts them all the same.
    pub(crate) persisting: usize,
    /// The pages of this process that arguments were read from.
    pub(crate) readable: HashSet<u64>,
    calls: HashMap<&'static str, u64>,
    /// The number of all calls.
    pub(crate) call_count: u32,
    handles: usize,
}

thread_local! {
    /// The contexts of a thread, the current one last.
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Looks at the contexts of this thread, or changes them.
pub(crate) fn with_contexts<T>(change: impl FnOnce(&mut Vec<usize>) -> T) -> T {
    CONTEXTS.with_borrow_mut(change)
}

/// The primary context of a GPU.
pub(crate) fn primary(ordinal: usize) -> usize {
    PRIMARY + ordinal
}

/// Makes another context of a GPU, and returns its handle.
pub(crate) fn create(ordinal: usize) -> usize {
    primary(ordinal) + CONTEXTS_APART * (CREATED.fetch_add(1, Ordering::Relaxed) + 1)
}

/// The number of contexts that were made so.
pub(crate) fn created() -> usize {
    CREATED.load(Ordering::Relaxed)
}

/// The number of a context's GPU.
pub(crate) fn ordinal_of(context: usize) -> usize {
    context.saturating_sub(PRIMARY) % CONTEXTS_APART
}

/// The GPU that this thread's calls go to: that of its current context, and the first where none is current.
fn current() -> usize {
    with_contexts(|contexts| contexts.last().map_or(0, |context| ordinal_of(*context)))
}

/// Makes the call `name`, which does `body`.
pub(crate) fn made(name: &'static str, body: impl FnOnce(&mut Driver) -> Answer) -> Code {
    static GPUS: LazyLock<Mutex<Vec<Driver>>> = LazyLock::new(|| {
        let config = Config::read();
        Mutex::new((0..config.gpus.max(1)).map(|ordinal| Driver::new(config.clone(), ordinal)).collect())
    });
    let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    let initialised = gpus[0].initialised;
    let current = current();
    lend(&mut gpus, current);
    let gpu = &mut gpus[current];
    gpu.initialised = initialised;
    let code = gpu.call(name, body);
    let initialised = gpu.initialised;
    gpus[0].initialised = initialised;
    give_back(&mut gpus, current);
    if code == NEVER {
        drop(gpus);
        loop {
            thread::sleep(Duration::MAX);
        }
    }
    code
}

/// Lets a GPU have the memory of those that it reaches, for one call.
fn lend(gpus: &mut [Driver], current: usize) {
    for peer in gpus[current].reaches.clone() {
        let memory = std::mem::take(&mut gpus[peer].memory);
        gpus[current].memory.peers.push(memory);
    }
}

fn give_back(gpus: &mut [Driver], current: usize) {
    let lent = std::mem::take(&mut gpus[current].memory.peers);
    // A call that has just begun to reach another GPU had not yet its memory.
    let reached = gpus[current].reaches.clone();
    for (peer, memory) in reached.into_iter().zip(lent) {
        gpus[peer].memory = memory;
    }
}

/// The state that a call needs before it does anything.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    Nothing,
    Initialisation,
    Context,
}

fn needs(name: &str) -> Needs {
    match name {
        "cuInit" | "cuDriverGetVersion" | "cuGetErrorName" | "cuGetErrorString" => Needs::Nothing,
        "cuCtxSynchronize" | "cuCtxGetDevice" => Needs::Context,
        _ if name.starts_with("cuDevice") || name.starts_with("cuCtx") => Needs::Initialisation,
        _ => Needs::Context,
    }
}

impl Driver {
    fn new(config: Config, ordinal: usize) -> Self {
        Self {
            ordinal,
            log: Log::open(config.log.as_deref()),
            unrest: Unrest::new(&config),
            delayed: Delayed::default(),
            l2: L2::new(config.l2),
            config,
            memory: Memory::of(ordinal),
            now: BEGIN,
            streams: BTreeMap::from([(NULL, Stream::new(0, 0))]),
            events: HashMap::new(),
            graphs: HashMap::new(),
            executables: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            allowed_shared: HashMap::new(),
            lost: None,
            doomed: None,
            initialised: false,
            reaches: Vec::new(),
            persisting: 0,
            readable: HashSet::new(),
            calls: HashMap::new(),
            call_count: 0,
            handles: 0x1000 + ordinal * HANDLES,
        }
    }

    fn call(&mut self, name: &'static str, body: impl FnOnce(&mut Self) -> Answer) -> Code {
        self.call_count = self.call_count.wrapping_add(1);
        let code = self.fault(name).or_else(|| self.ready(name).err());
        let code = code.unwrap_or_else(|| body(self).err().unwrap_or(SUCCESS));
        self.log.add(self.now, 0.0, None, format_args!("call {name} {code}"));
        if code == NEVER || name.ends_with("Synchronize") || (name == "cuInit" && self.is_gone()) {
            self.log.write();
        }
        code
    }

    fn ready(&self, name: &str) -> Answer {
        let needs = needs(name);
        if needs > Needs::Nothing && !self.initialised {
            return Err(NOT_INITIALIZED);
        }
        if needs < Needs::Context {
            return Ok(());
        }
        if with_contexts(|contexts| contexts.is_empty()) {
            return Err(INVALID_CONTEXT);
        }
        self.lost.map_or(Ok(()), Err)
    }

    /// The code with which this call is to fail, if it is.
    fn fault(&mut self, name: &'static str) -> Option<Code> {
        if name == "cuInit" && self.is_gone() {
            return self.config.gone;
        }
        let count = self.calls.entry(name).or_default();
        *count += 1;
        let here = |fault: &&Fault| fault.gpu.is_none_or(|gpu| gpu == self.ordinal);
        let mut faults = self.config.faults.iter().filter(here);
        let fault = faults.find(|fault| fault.call == name && fault.number == *count)?;
        if fault.sticky {
            let (code, name) = (fault.code, format!("{name}-{count}"));
            return self.is_first(&name).then(|| *self.lost.insert(code));
        }
        Some(fault.code)
    }

    /// Tells whether the device was lost with a context, in this process or another.
    fn is_gone(&self) -> bool {
        let left = self.config.once.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        self.config.gone.is_some() && left.is_some_and(|mut files| files.next().is_some())
    }

    /// Tells whether a fault that loses the context may happen now. With `ONCE`, it may not happen a second time.
    pub(crate) fn is_first(&self, why: &str) -> bool {
        let Some(folder) = &self.config.once else { return true };
        fs::create_dir_all(folder).and_then(|()| File::create_new(folder.join(why))).is_ok()
    }

    /// A handle that no other thing has.
    pub(crate) fn handle(&mut self) -> usize {
        self.handles += 0x10;
        self.handles
    }

    pub(crate) fn event(&mut self, event: usize) -> Result<&mut Event, Code> {
        self.events.get_mut(&event).ok_or(INVALID_HANDLE)
    }
}
