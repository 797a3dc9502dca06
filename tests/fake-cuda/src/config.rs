//! The settings of the fake driver. A variable with a wrong value ends the process, so that a test with a
//! misspelt fault fails.

use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use std::{env, process};

use crate::code::Code;
use crate::delays::Delays;
use crate::driver::BEGIN;
use crate::model::{L2_SIZE, STEP, Stall};

/// Everything that a test can choose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// The version that `cuDriverGetVersion` returns.
    pub(crate) driver: i32,
    /// The file of the log.
    pub(crate) log: Option<PathBuf>,
    /// The driver's release.
    pub(crate) release: String,
    /// The number of GPUs that a process sees.
    pub(crate) gpus: usize,
    /// The places of these among the GPUs of the machine.
    visible: Vec<usize>,
    /// The machine that they are in; nothing if there is only one.
    host: String,
    /// The standard deviation of kernels' times, as a fraction.
    pub(crate) noise: f64,
    /// By how much kernels slow down in a second of the device's time, as a fraction.
    pub(crate) drift: f64,
    /// The delays that are no part of a launch's own time.
    pub(crate) delays: Delays,
    /// The stall of the memory, if it has one.
    pub(crate) stall: Option<Stall>,
    /// The seed of the noise.
    pub(crate) seed: u64,
    /// Calls that fail.
    pub(crate) faults: Vec<Fault>,
    /// Kernels that misbehave, by name.
    pub(crate) kernels: Vec<(String, Misdeed)>,
    /// A folder in which a sticky fault leaves a file, so that it happens once, whatever the number of processes.
    pub(crate) once: Option<PathBuf>,
    /// The clock of the multiprocessors in MHz, by the counters of the device itself, each with the second of the
    /// device's time from which on it is that.
    counted: Vec<(f64, u64)>,
    /// The code that `cuInit` returns in every process that begins after that.
    pub(crate) gone: Option<Code>,
    /// The sensors' readings of the multiprocessors' clock in MHz. The last one repeats.
    pub(crate) clocks: Vec<u32>,
    /// Their readings of the temperature in °C, likewise.
    pub(crate) heat: Vec<u32>,
    /// The causes that hold it down, as bits of that library.
    pub(crate) slowed: u64,
    /// The number of processes with work on the GPU.
    pub(crate) processes: u32,
    /// The time between two counts of the energy, in milliseconds; 0 if they do not count it.
    pub(crate) energy: u64,
    /// The codes that locking the clocks and resetting them return.
    pub(crate) lock: u32,
    pub(crate) unlock: u32,
    /// The generation and the lanes of its bus, where that is told.
    pub(crate) pcie: Option<(u32, u32)>,
    /// The number of its links to other GPUs.
    pub(crate) nvlinks: u32,
    /// Its mode of virtualisation, as that library numbers it.
    pub(crate) virtualised: u32,
    /// No attribute tells the clocks and the bus.
    pub(crate) hides: bool,
    /// The compute capability, times 10.
    pub(crate) capability: u32,
    /// The resolution of the GPU's timer in nanoseconds: of events and of `%globaltimer`.
    pub(crate) step: u64,
    /// Delays end on a tick of that timer.
    pub(crate) aligned: bool,
    /// The size of the L2 in bytes.
    pub(crate) l2: u64,
    /// The end of the process in `cuInit`, if it comes there.
    pub(crate) init: Option<Init>,
    /// The GPUs that are listed and of which no call tells anything.
    pub(crate) broken: Vec<usize>,
    /// The faults of its CUPTI.
    pub(crate) cupti: CuptiFaults,
}

/// The faults of CUPTI.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CuptiFaults {
    /// The version that it tells.
    pub(crate) version: u32,
    /// The code with which it refuses to trace, or 0.
    pub(crate) refuses: u32,
    /// The records that it tells to have dropped.
    pub(crate) dropped: usize,
    /// By how many nanoseconds kernels end later by it.
    pub(crate) late: u64,
    /// By this part kernels of a process that it traces take longer.
    pub(crate) slows: f64,
    /// What is wrong with records, in a word.
    pub(crate) records: String,
}

impl CuptiFaults {
    const NONE: Self =
        Self { version: 28, refuses: 0, dropped: 0, late: 0, slows: 0.0, records: String::new() };

    /// `lost`, or `late:500`.
    fn with(self, text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("{text} is no number"));
        Ok(match text.split_once(':') {
            Some(("version", version)) => Self { version: number(version)?, ..self },
            Some(("refuses", code)) => Self { refuses: number(code)?, ..self },
            Some(("dropped", records)) => Self { dropped: number(records)? as usize, ..self },
            Some(("late", time)) => Self { late: number(time)?.into(), ..self },
            Some(("slows", percent)) => Self { slows: f64::from(number(percent)?) / 100.0, ..self },
            None if ["lost", "zero", "order", "twice", "garbled", "dies"].contains(&text) => {
                Self { records: text.to_owned(), ..self }
            }
            _ => return Err(format!("CUPTI has no fault `{text}`")),
        })
    }
}

/// The fault of a driver that ends the process which starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Init {
    Aborts,
    Exits,
}

impl Init {
    /// Ends the process.
    pub(crate) fn end(self) -> ! {
        match self {
            Self::Aborts => process::abort(),
            Self::Exits => process::exit(0),
        }
    }
}

/// `cuMemAlloc_v2#3=2`, with `!` behind it where the context is lost with it, and with `@1` behind that where GPU 1 alone
/// has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) call: String,
    pub(crate) number: u64,
    pub(crate) code: Code,
    pub(crate) sticky: bool,
    /// The GPU that has it, if not each.
    pub(crate) gpu: Option<usize>,
}

/// The fault of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misdeed {
    /// Takes its time and writes nothing.
    Nothing,
    /// Does its work, and one bit in the middle of what it writes is wrong.
    Spoilt,
    /// Leaves the last term of each of its sums out.
    Short,
    /// Never ends.
    NeverEnds,
    /// Costs the context, with this code.
    Fails(Code),
}

impl Config {
    /// As the environment has it.
    pub(crate) fn read() -> Self {
        let config = Self::of(&|name| {
            env::var(format!("GPUBENCH_FAKE_{name}")).ok().filter(|value| !value.is_empty())
        });
        match env::var("CUDA_VISIBLE_DEVICES") {
            Ok(wanted) => config.narrowed(&wanted),
            Err(_) => config,
        }
    }

    /// The same where a process sees only the GPUs that are `wanted`, by their numbers or UUIDs, in that order. The first that
    /// is none ends the list.
    fn narrowed(mut self, wanted: &str) -> Self {
        let place = |wanted: &str| match wanted.parse::<usize>() {
            Ok(place) => Some(place).filter(|place| *place < self.gpus),
            Err(_) => (0..self.gpus).find(|place| !wanted.is_empty() && shown(self.uuid(*place)) == wanted),
        };
        self.visible = wanted.split(',').map(str::trim).map_while(place).collect();
        self.gpus = self.visible.len();
        self
    }

    /// The identity of the GPU with this number: the last digit is its place in the machine, whose name is in the middle.
    pub(crate) fn uuid(&self, ordinal: usize) -> [u8; 16] {
        let mut uuid = *b"a fake device, 0";
        for (place, byte) in self.host.bytes().enumerate() {
            uuid[2 + place % 11] ^= byte;
        }
        uuid[15] += self.visible.get(ordinal).copied().unwrap_or(ordinal) as u8;
        uuid
    }

    /// The clock of the multiprocessors at a time of the device, in MHz.
    pub(crate) fn clock_at(&self, time: f64) -> u64 {
        let seconds = (time - BEGIN) * 1e-9;
        let begun = self.counted.iter().rfind(|(from, _)| *from <= seconds);
        begun.map_or(USUAL_CLOCK, |(_, clock)| *clock)
    }

    fn of(value: &dyn Fn(&str) -> Option<String>) -> Self {
        let list = |name| value(name).unwrap_or_default();
        let items = |list: &str| -> Vec<String> {
            list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
        };
        let readings = |name, usual: &str| -> Vec<u32> {
            let number = |item: &String| {
                item.parse().unwrap_or_else(|_| refuse(format!("a reading is a whole number, not `{item}`")))
            };
            items(&value(name).unwrap_or_else(|| usual.to_owned())).iter().map(number).collect()
        };
        Self {
            driver: number(value, "DRIVER", 13_000),
            log: value("LOG").map(PathBuf::from),
            release: value("RELEASE").unwrap_or_else(|| "580.0".to_owned()),
            gpus: number(value, "GPUS", 1),
            visible: Vec::new(),
            host: list("HOST"),
            noise: number(value, "NOISE", 0.0),
            drift: number(value, "DRIFT", 0.0),
            delays: Delays {
                places: number(value, "PLACES", 0.0),
                memory: number(value, "MEMORY", 0.0),
                cold_node: number(value, "COLD_NODE", 0.0),
                cold_parameters: number(value, "COLD_PARAMETERS", 0.0),
                uncopied: number(value, "UNCOPIED", 0.0),
                second_stream: number(value, "SECOND_STREAM", 0.0),
                groups: number(value, "GROUPS", 0.0),
            },
            stall: value("STALL").map(|text| stall(&text).unwrap_or_else(refuse)),
            seed: number(value, "SEED", 1),
            faults: items(&list("FAULT")).iter().map(|item| item.parse().unwrap_or_else(refuse)).collect(),
            kernels: items(&list("KERNEL")).iter().map(|item| kernel(item).unwrap_or_else(refuse)).collect(),
            once: value("ONCE").map(PathBuf::from),
            counted: items(&list("COUNTED"))
                .iter()
                .map(|item| counted(item).unwrap_or_else(refuse))
                .collect(),
            gone: value("GONE").map(|_| number(value, "GONE", 0)),
            clocks: readings("CLOCKS", "1980"),
            heat: readings("HEAT", "41"),
            slowed: number(value, "SLOWED", 0),
            processes: number(value, "PROCESSES", 1),
            energy: number(value, "ENERGY", 20),
            lock: number(value, "LOCK", 0),
            unlock: number(value, "UNLOCK", 0),
            pcie: value("PCIE").map(|bus| link(&bus).unwrap_or_else(refuse)),
            nvlinks: number(value, "NVLINKS", 0),
            virtualised: number(value, "VIRTUAL", 0),
            hides: number(value, "HIDES", false),
            capability: number(value, "CAPABILITY", 90),
            step: number(value, "STEP", NonZero::new(STEP).expect("a timer advances")).get(),
            aligned: number(value, "ALIGNED", false),
            l2: value("L2").map_or(L2_SIZE, |_| number(value, "L2", 0) << 20),
            init: value("INIT").map(|what| init(&what).unwrap_or_else(refuse)),
            cupti: items(&list("CUPTI"))
                .iter()
                .fold(CuptiFaults::NONE, |faults, item| faults.with(item).unwrap_or_else(refuse)),
            broken: items(&list("BROKEN"))
                .iter()
                .map(|item| {
                    item.parse().unwrap_or_else(|_| refuse(format!("a GPU is a number, not `{item}`")))
                })
                .collect(),
        }
    }
}

/// A GPU's UUID as NVIDIA's tools write it: `GPU-` and five groups of digits.
pub(crate) fn shown(uuid: [u8; 16]) -> String {
    let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    format!("GPU-{}", groups.join("-"))
}

/// The clock of the multiprocessors where nobody asks for another.
const USUAL_CLOCK: u64 = 1980;

fn number<T: FromStr>(value: &dyn Fn(&str) -> Option<String>, name: &str, usual: T) -> T {
    let Some(text) = value(name) else { return usual };
    text.parse().unwrap_or_else(|_| refuse(format!("GPUBENCH_FAKE_{name}={text} is no number")))
}

/// `aborts` or `exits`.
fn init(text: &str) -> Result<Init, String> {
    match text {
        "aborts" => Ok(Init::Aborts),
        "exits" => Ok(Init::Exits),
        _ => Err(format!("`cuInit` `aborts` or `exits`, and does not `{text}`")),
    }
}

/// `5x16`.
fn link(text: &str) -> Result<(u32, u32), String> {
    let parse = || {
        let (generation, lanes) = text.split_once('x')?;
        Some((generation.parse().ok()?, lanes.parse().ok()?))
    };
    parse().ok_or_else(|| format!("a bus is `generation x lanes` without spaces, not `{text}`"))
}

/// Ends the process with exit code 2 and a message. A panic would abort it: C's callers cannot unwind.
#[expect(clippy::exit, clippy::print_stderr, reason = "a driver has no other way to reach the user")]
pub(crate) fn refuse<T>(message: String) -> T {
    eprintln!("the fake libcuda: {message}");
    process::exit(2)
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (text, gpu) = match text.split_once('@') {
                Some((text, gpu)) => (text, Some(gpu.parse().ok()?)),
                None => (text, None),
            };
            let (text, sticky) = text.strip_suffix('!').map_or((text, false), |text| (text, true));
            let (place, code) = text.split_once('=')?;
            let (call, number) = place.split_once('#').unwrap_or((place, "1"));
            Some(Self {
                call: call.to_owned(),
                number: number.parse().ok()?,
                code: code.parse().ok()?,
                sticky,
                gpu,
            })
        };
        parse().ok_or_else(|| format!("a fault is `call#number=code!@gpu`, of which `#number`, `!` and `@gpu` may be left out, not `{text}`"))
    }
}

/// `1400@100190`.
fn stall(text: &str) -> Result<Stall, String> {
    let parsed = text.split_once('@').and_then(|(length, period)| {
        let stall = Stall { length: length.parse().ok()?, period: period.parse().ok()? };
        (0.0 < stall.length && stall.length < stall.period).then_some(stall)
    });
    parsed.ok_or_else(|| format!("a stall is `length@period` in nanoseconds, not `{text}`"))
}

/// `1410@0.3`.
fn counted(text: &str) -> Result<(f64, u64), String> {
    let parsed =
        text.split_once('@').and_then(|(clock, from)| Some((from.parse().ok()?, clock.parse().ok()?)));
    parsed.ok_or_else(|| format!("a clock that is counted is `MHz@seconds`, not `{text}`"))
}

/// `fill:nothing`, `fill:spoilt`, `matmul_naive:short`, `fill:never-ends` or `fill:700`.
fn kernel(text: &str) -> Result<(String, Misdeed), String> {
    let parse = || {
        let (name, what) = text.split_once(':')?;
        let misdeed = match what {
            "nothing" => Misdeed::Nothing,
            "spoilt" => Misdeed::Spoilt,
            "short" => Misdeed::Short,
            "never-ends" => Misdeed::NeverEnds,
            code => Misdeed::Fails(code.parse().ok()?),
        };
        Some((name.to_owned(), misdeed))
    };
    parse().ok_or_else(|| {
        format!(
            "a kernel's fault is `name:nothing`, `name:spoilt`, `name:short`, `name:never-ends` or `name:code`, not \
             `{text}`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_documented() {
        let config = Config::of(&|name| {
            let value = match name {
                "FAULT" => "cuMemAlloc_v2#3=2, cuLaunchKernel=719!, cuLaunchKernel=719!@1",
                "KERNEL" => "fill:nothing,dot:spoilt,sum:never-ends,stray:700",
                "NOISE" => "0.05",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let fault = |call: &str, number, code, sticky, gpu| Fault {
            call: call.to_owned(),
            number,
            code,
            sticky,
            gpu,
        };
        assert_eq!(
            config.faults,
            [
                fault("cuMemAlloc_v2", 3, 2, false, None),
                fault("cuLaunchKernel", 1, 719, true, None),
                fault("cuLaunchKernel", 1, 719, true, Some(1)),
            ]
        );
        let kernels = [
            ("fill", Misdeed::Nothing),
            ("dot", Misdeed::Spoilt),
            ("sum", Misdeed::NeverEnds),
            ("stray", Misdeed::Fails(700)),
        ];
        assert_eq!(config.kernels, kernels.map(|(name, misdeed)| (name.to_owned(), misdeed)));
        assert_eq!((config.noise, config.drift, config.driver), (0.05, 0.0, 13_000));
        let refused = ["cuInit#x=1", "cuInit=1@x"].map(|fault| fault.parse::<Fault>().is_err());
        assert!(refused == [true; 2] && kernel("fill").is_err());
    }

    #[test]
    fn a_process_sees_the_gpus_that_it_is_given() {
        let machine = |host: &str| {
            let value = |name: &str| match name {
                "GPUS" => Some("3".to_owned()),
                "HOST" => Some(host.to_owned()),
                _ => None,
            };
            Config::of(&value)
        };
        let all = machine("n1");
        let uuids = |config: &Config| (0..config.gpus).map(|gpu| config.uuid(gpu)).collect::<Vec<_>>();
        let [first, second, third] = uuids(&all)[..] else { panic!("{all:?}") };
        for (wanted, seen) in [
            ("2,0", &[third, first][..]),
            (&*shown(second), &[second]),
            ("1,7,0", &[second]),
            ("", &[]),
            ("-1", &[]),
        ] {
            assert_eq!(uuids(&machine("n1").narrowed(wanted)), seen, "{wanted}");
        }
        assert!(!uuids(&machine("n2")).contains(&first) && !uuids(&machine("")).contains(&first));
    }

    #[test]
    fn a_timer_and_an_l2_are_those_of_an_h200_unless_a_test_asks_for_others() {
        let read = |names: &'static [(&str, &str)]| {
            let value = |name: &str| names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let Config { step, aligned, l2, .. } = Config::of(&|name| value(name).map(str::to_owned));
            (step, aligned, l2)
        };
        assert_eq!(read(&[]), (32, false, 62_914_560));
        assert_eq!(read(&[("STEP", "1024"), ("ALIGNED", "true"), ("L2", "6")]), (1024, true, 6 << 20));
    }

    #[test]
    fn a_stall_is_shorter_than_its_period() {
        assert_eq!(stall("1400@100190"), Ok(Stall { length: 1400.0, period: 100_190.0 }));
        assert!(["1400", "1400@", "1400@1400", "0@9", "x@y"].iter().all(|text| stall(text).is_err()));
    }

    #[test]
    fn a_clock_counts_from_its_second_on() {
        let config = Config::of(&|name| (name == "COUNTED").then(|| "1410@0.5, 1700@0.75".to_owned()));
        let clocks = [0.0, 0.49, 0.5, 0.74, 0.8].map(|seconds| config.clock_at(BEGIN + seconds * 1e9));
        assert_eq!(clocks, [1980, 1980, 1410, 1410, 1700]);
        assert!(counted("1410").is_err() && counted("fast@1").is_err());
    }
}
