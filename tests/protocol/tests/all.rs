//! Suites run on the fake libcuda: the calls that they make, and the results that they report.

mod bindings;
mod capture;
mod caught;
mod clock_locks;
mod cupti;
mod engine;
mod experiments;
mod faults;
mod flush;
mod gpus;
mod kernels;
mod killed;
mod launches;
mod limits;
mod log;
mod ncu;
mod no_gpu;
mod nvtx;
mod opened;
mod places;
mod searched;
mod sensors;
mod stalls;
mod tasks;
mod truth;
mod turns;
