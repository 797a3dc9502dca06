//! The environment of this process. In: the task that it is, if it is one of several; out: an [`Environment`]: the machine's
//! name, its system and CPU, the settings that can change times, and the command line without the program's folder. No user name is read.

use std::{env, fs, path::Path};

use gpubench_records::{Environment, Task};
use gpubench_runtime::{devices::host::cpu_name, system};

/// Reads the environment of this process, which is `task` of several.
pub fn environment(task: Option<Task>) -> Environment {
    Environment {
        host: system::host_name(),
        system: system::os_name(),
        kernel: Some(system::kernel_release()),
        cpu: Some(cpu_name()),
        variables: system::time_variables(),
        cpu_quota: system::cpu_quota(&|path| fs::read_to_string(path).ok()),
        command: command(env::args_os().map(|argument| argument.to_string_lossy().into_owned())),
        task,
    }
}

/// Returns the command line, with the program's folder removed.
fn command(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut command: Vec<String> = arguments.collect();
    if let Some(program) = command.first_mut()
        && let Some(name) = Path::new(program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_keeps_its_arguments_and_loses_its_folder() {
        let given = ["/home/someone/target/release/suite", "saxpy", "--json", "out/run.json"];
        let kept = command(given.into_iter().map(str::to_owned));
        assert_eq!(kept, ["suite", "saxpy", "--json", "out/run.json"]);
        assert_eq!(command(std::iter::empty()), [""; 0]);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_cpu() {
        let found = environment(None);
        assert!(found.kernel.is_some_and(|kernel| kernel.starts_with("Linux ")), "a Linux kernel");
        assert!(found.cpu.is_some_and(|cpu| !cpu.is_empty()) && !found.command.is_empty());
    }
}
