//! `clocks`: the clocks of this machine's GPUs. In: the devices; out: their clocks, or a reset of locks that a run or another program
//! has left behind. Only `reset` changes anything.

use gpubench_records::exit::Exit;
use gpubench_report::paragraph;
use gpubench_runtime::__private::machine::{ClockedDevice, clocked_devices};

use crate::args::ClocksCommand;
use crate::error::{CommandError, DeviceCommandError};
use crate::output::{self, PrintOptions};

/// The words for what was done to a device.
type Done = Result<String, DeviceCommandError>;

pub(super) fn clocks(command: &ClocksCommand, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let devices = clocked_devices().map_err(DeviceCommandError::NoDevice)?;
    let (wanted, act): (_, fn(&ClockedDevice) -> Done) = match command {
        ClocksCommand::Show { devices } => (devices, show),
        ClocksCommand::Reset { devices } => (devices, reset),
    };
    if let Some(unknown) = wanted.iter().find(|name| !devices.iter().any(|device| is_called(device, name))) {
        let known = devices.iter().map(|device| device.device.clone()).collect();
        return Err(DeviceCommandError::Unknown { name: unknown.clone(), known }.into());
    }
    let is_wanted =
        |device: &&ClockedDevice| wanted.is_empty() || wanted.iter().any(|name| is_called(device, name));
    let mut exit = Exit::Done;
    for device in devices.iter().filter(is_wanted) {
        match act(device) {
            Ok(done) => output::print(&paragraph(&done, print_options.page()), print_options)?,
            Err(error) => {
                output::error(&error);
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

/// Returns true if this is a name of the device: `cuda:0`, or `0` for short.
fn is_called(device: &ClockedDevice, name: &str) -> bool {
    device.device == name || device.device.rsplit_once(':').is_some_and(|(_, number)| number == name)
}

fn show(device: &ClockedDevice) -> Done {
    let refused = |error| DeviceCommandError::Refused { device: device.device.clone(), error };
    let clocks = device.clocks().map_err(refused)?;
    let clocks: Vec<String> = clocks.iter().map(ToString::to_string).collect();
    Ok(format!("{} ({}): {}\n", device.device, device.name, clocks.join(", ")))
}

fn reset(device: &ClockedDevice) -> Done {
    let refused = |error| DeviceCommandError::Refused { device: device.device.clone(), error };
    device.reset().map_err(refused)?;
    Ok(format!("{} ({}): clocks reset\n", device.device, device.name))
}
