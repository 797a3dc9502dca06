//! Small suites run as a user runs them: what they print, write and return.

mod absent_work;
mod baselines;
mod caught;
mod compared;
mod devices;
mod downstream;
mod environment;
mod faults;
mod growing;
mod interrupts;
mod leaves;
mod limits;
mod lists;
mod numbers;
mod one_file;
mod options;
mod own_device;
mod programs;
mod results;
mod resume;
mod selection;
mod settings;
mod test_mode;
mod tools;
mod tuned;
mod usage;
