//! Scratch.
#![allow(missing_docs)]
use std::{collections::BTreeMap, sync::Mutex, time::{Duration, Instant}};
pub static JOB: Mutex<String> = Mutex::new(String::new());
static ALL: Mutex<BTreeMap<&'static str, (Duration, u32)>> = Mutex::new(BTreeMap::new());
pub struct Phase(&'static str, Instant);
pub fn phase(name: &'static str) -> Phase { Phase(name, Instant::now()) }
impl Drop for Phase { fn drop(&mut self) { let mut all = ALL.lock().unwrap(); let e = all.entry(self.0).or_default(); e.0 += self.1.elapsed(); e.1 += 1; } }
pub fn named(name: String) -> Phase { phase(Box::leak(name.into_boxed_str())) }
pub fn store() { let Ok(path) = std::env::var("GPUBENCH_PHASES") else { return };
 let text: String = ALL.lock().unwrap().iter().map(|(n,(d,c))| format!("{n:60} {:9.1} ms {c:6}\n", d.as_secs_f64()*1e3)).collect();
 std::fs::write(format!("{path}.{}", std::process::id()), text).ok(); }
