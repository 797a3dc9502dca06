//! A libcuda without a GPU, for tests: a shared library with the C functions that `cust` and the runtime
//! call, chosen by `GPUBENCH_LIBCUDA`. Work is done at once and in order, and only if its result is read.
//!
//! It is there to test what only this seam can: the protocol of a measurement. Its times are a model's (`model`), and
//! whoever asks is told so: the exported [`gpubench_fake`] has the runtime say *fake* above the results and in every
//! record.
//!
//! Variables of the environment, each name after `GPUBENCH_FAKE_`:
//!
//! | variable | for instance | what it does |
//! |---|---|---|
//! | `LOG` | `run.log` | Every call, and every piece of work with its stream, ranges and time, is written there; see `log`. Without it, a kernel with pointers that the fake does not compute is named on standard error. |
//! | `GPUS` | `2` | How many GPUs there are; usually 1. Each has a primary context of its own, with its own memory, streams, events, modules, graphs and time: what belongs to another is refused. A process sees those that `CUDA_VISIBLE_DEVICES` names. |
//! | `HOST` | `n2` | The machine: GPUs of another have other UUIDs. |
//! | `NOISE` | `0.05` | Kernels take normally distributed times, with this standard deviation as a fraction. |
//! | `DRIFT` | `0.1` | Kernels get slower by this fraction in a second of the device's time. |
//! | `STALL` | `1400@100190` | The memory is held up for so many nanoseconds, once in so many. A kernel that waits for memory meanwhile waits longer. |
//! | `PLACES` | `130` | What two events of a graph read has an error of their places, which comes again in each replay, with this standard deviation in nanoseconds. |
//! | `MEMORY` | `0.04` | Kernels of a suite take longer by a part of up to this, which depends on where the memory lies that they touch first. |
//! | `COLD_NODE` | `300` | Behind a flush in its graph a kernel begins so many nanoseconds later. |
//! | `COLD_PARAMETERS` | `80` | There a kernel that reads its parameters begins so many nanoseconds later again. |
//! | `UNCOPIED` | `370` | The first time that a graph runs which was not copied to the device, a kernel directly behind another begins so many nanoseconds later. |
//! | `SECOND_STREAM` | `350` | Once a second stream has had a hundred kernels, each kernel begins so many nanoseconds later. |
//! | `GROUPS` | `1000` | In about half of the groups of a stream, each of which begins with a delay of 1 ms or more, two events read this many nanoseconds more. |
//! | `SEED` | `7` | Where noise and places begin; usually 1. |
//! | `FAULT` | `cuMemAlloc_v2#3=2` | The third call of this name in a process is not made and returns 2. With `!` behind it the context is lost, and all later calls return 2 as well. With `@1` behind it GPU 1 alone has it. Calls are counted for each GPU, those without a context for the first. Several stand with commas between them; any code will do. |
//! | `KERNEL` | `fill:nothing` | The kernel `fill` writes nothing, and a kernel that only reads reads nothing; with `spoilt` one bit in the middle of what it writes is wrong; with `short` one of a matrix product or of gravity leaves the last term of each sum out; with `never-ends` it never ends; with a code such as `700` it costs the context, with that code. `memcpy:nothing` has copies on streams do nothing. |
//! | `ONCE` | a folder | What costs the context happens once and leaves a file there, whatever the number of processes. |
//! | `COUNTED` | `1410@0.3` | The clock of the multiprocessors, in MHz, that kernels count from this second of the device's time on; before, and usually, 1980. |
//! | `GONE` | `999` | With `ONCE`: what costs the context costs the device; `cuInit` returns this in all processes that begin later. |
//! | `CLOCKS` | `1980,1410` | What the sensors say of the clock, reading by reading, where `GPUBENCH_LIBNVML` names this library too. |
//! | `HEAT` | `72,58` | What they say of the temperature in °C, likewise; usually 41. |
//! | `SLOWED` | `4` | What they say holds it down: bits of NVIDIA's management library, 4 being the power cap. |
//! | `PROCESSES` | `3` | How many processes they say have work on the GPU, this one included; usually 1. |
//! | `ENERGY` | `100` | How often they count the energy of 212.4 W, in milliseconds of the host's time; usually 20, never with 0. |
//! | `LOCK`, `UNLOCK` | `4` | What locking clocks returns, and resetting them: codes of that library, 4 being that it is not permitted. |
//! | `PCIE` | `5x16` | The generation and the lanes of its bus, where `GPUBENCH_LIBNVML` names this library; usually not told. |
//! | `NVLINKS` | `18` | How many links of NVLink 4 it has, likewise; usually none. |
//! | `VIRTUAL` | `1` | The GPU is that of a virtual machine, as the management library numbers its modes: 1 passed through, 2 shared. |
//! | `HIDES` | `true` | The clocks and the width of the memory's bus are not told. |
//! | `CAPABILITY` | `75` | The compute capability, also that of the newest PTX that is compiled; usually 90. |
//! | `STEP` | `1024` | The resolution of the GPU's timer in nanoseconds, of events and of `%globaltimer`; usually 32. |
//! | `ALIGNED` | `true` | A delay ends on a tick of that timer, which it polls. Usually it is whole steps long, wherever it begins. |
//! | `L2` | `4` | The size of the L2 in MiB; usually 60. |
//! | `INIT` | `aborts` | `cuInit` ends the process by SIGABRT; with `exits` it exits with code 0. |
//! | `BROKEN` | `0` | This GPU is listed, and every call that names it returns 101. |
//! | `CUPTI` | `late:500` | What its CUPTI does, which suites name by `--cupti`: of the third kernel that is traced the record is `lost`, has stamps of `zero`, ends before it begins (`order`), or is there `twice`; all are `garbled`; it ends the process (`dies`), `refuses:35` to trace, has `dropped:7` records, is of `version:12`, has kernels end `late:500` nanoseconds, or `slows:6` them by so many per cent. |
//! | `DRIVER` | `11060` | What `cuDriverGetVersion` tells; usually 13000. |
//! | `RELEASE` | `590.2` | The driver's release, where `GPUBENCH_LIBNVML` names this library; usually 580.0. |

mod api;
mod call;
mod code;
mod config;
mod content;
mod delays;
mod driver;
mod fingerprint;
mod graph;
mod kernels;
mod l2;
mod log;
mod memory;
mod model;
mod ptx;
// The kernels of the suite as plain code. Included, since a library that depends on their crate would define the driver's
// functions twice: as the fake, and as the forwarders to it.
#[expect(unreachable_pub, reason = "the crate that the folder belongs to exports it")]
#[path = "../../../gpubench-kernels/src/reference/mod.rs"]
mod reference;
mod stream;
mod work;

/// Tells this library from a driver: no driver exports this name.
#[expect(unsafe_code, reason = "exports a C function")]
// SAFETY: nobody else defines a symbol of this name.
#[unsafe(no_mangle)]
pub extern "C" fn gpubench_fake() -> u32 {
    1
}
