//! Reads the name, the system and the times of this machine.

use std::ffi::CStr;
use std::fs;
use std::time::Duration;

use rustix::system::uname;
use rustix::time::{ClockId, clock_gettime};

/// Returns the machine's name.
pub(crate) fn host() -> Option<String> {
    Some(text(uname().nodename())).filter(|name| !name.is_empty())
}

/// Returns the name of the system, as in `Debian GNU/Linux 12 (bookworm)`.
pub(crate) fn system() -> Option<String> {
    fs::read_to_string("/etc/os-release").ok().and_then(|release| pretty_name(&release))
}

/// Returns the kernel and its version.
pub(crate) fn kernel() -> Option<String> {
    let uname = uname();
    Some(format!("{} {}", text(uname.sysname()), text(uname.release())))
}

fn text(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

/// Returns the name of the system in the text of `os-release`.
fn pretty_name(release: &str) -> Option<String> {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim().trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Returns the time that the calling thread ran so far.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_named_by_its_release_file() {
        let debian = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
        assert_eq!(pretty_name(debian).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(pretty_name("PRETTY_NAME=Void").as_deref(), Some("Void"));
        assert_eq!((pretty_name(""), pretty_name("PRETTY_NAME=\"\"")), (None, None));
    }
}
