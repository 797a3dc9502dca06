//! The driver: everything it knows, behind one lock, and what every call of it has in common. In: a call's name and what it
//! does; out: its code, after the faults that were asked for, the state of the context and the log had their say.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::code::{Code, INVALID_CONTEXT, INVALID_HANDLE, NEVER, NOT_INITIALIZED, SUCCESS};
use crate::config::Config;
use crate::graph::{Executable, Graph};
use crate::l2::L2;
use crate::log::Log;
use crate::memory::Memory;
use crate::model::{L2_SIZE, Unrest};
use crate::ptx::Entry;
use crate::stream::{Event, NULL, Stream};

/// What a call does: nothing to tell, or the code of its failure.
pub(crate) type Answer = Result<(), Code>;

/// When the device's clock begins: not at a multiple of its step.
pub(crate) const BEGIN: f64 = 1e9 + 5.0;

/// All that there is.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) config: Config,
    pub(crate) log: Log,
    pub(crate) memory: Memory,
    pub(crate) l2: L2,
    pub(crate) unrest: Unrest,
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
    /// What the context was lost with.
    pub(crate) lost: Option<Code>,
    /// What it is lost with as soon as somebody waits for the device.
    pub(crate) doomed: Option<Code>,
    pub(crate) initialised: bool,
    /// How many bytes of the L2 may be kept from being evicted. Nothing is.
    pub(crate) persisting: usize,
    calls: HashMap<&'static str, u64>,
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

/// Makes the call `name`, which does `body`.
pub(crate) fn made(name: &'static str, body: impl FnOnce(&mut Driver) -> Answer) -> Code {
    static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| Mutex::new(Driver::new(Config::read())));
    let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let code = driver.call(name, body);
    if code == NEVER {
        drop(driver);
        loop {
            thread::sleep(Duration::MAX);
        }
    }
    code
}

/// What a call needs before it does anything.
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
    fn new(config: Config) -> Self {
        Self {
            log: Log::open(config.log.as_deref()),
            unrest: Unrest::new(&config),
            config,
            memory: Memory::new(),
            l2: L2::new(L2_SIZE),
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
            persisting: 0,
            calls: HashMap::new(),
            handles: 0x1000,
        }
    }

    fn call(&mut self, name: &'static str, body: impl FnOnce(&mut Self) -> Answer) -> Code {
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
        let fault = self.config.faults.iter().find(|fault| fault.call == name && fault.number == *count)?;
        if fault.sticky {
            let (code, name) = (fault.code, format!("{name}-{count}"));
            return self.is_first(&name).then(|| *self.lost.insert(code));
        }
        Some(fault.code)
    }

    /// Whether the device went with a context, of whichever process.
    fn is_gone(&self) -> bool {
        let left = self.config.once.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        self.config.gone.is_some() && left.is_some_and(|mut files| files.next().is_some())
    }

    /// Whether what costs the context may happen: not if it is to happen once, and has happened.
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
