//! Locks a file per GPU, so that one benchmark binary at a time measures on it. The lock ends with its process. It is advisory: it only
//! stops programs that ask for it.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::{fs::MetadataExt, fs::OpenOptionsExt, fs::PermissionsExt};
use std::time::{Duration, SystemTime};
use std::{env, path::Path, process, thread};

use rustix::fs::OFlags;

use super::RunError;
use gpubench_runtime::device::Available;
use gpubench_stats::Set;

/// The pause between two tries for a lock that another process has.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Locks the `devices` that have a UUID, in the same order in every benchmark binary. If another process has
/// the lock of a device and `wait` is true, warns with the name of the device and waits. If a lock file
/// cannot be used, warns and leaves the device unlocked. Returns the locked files: a device is locked until
/// its file is dropped.
///
/// # Errors
/// Returns an error if a device is busy and `wait` is false, or if `stop` returns true during the wait.
pub(crate) fn lock_devices(
    devices: &[Available],
    suite: &str,
    wait: bool,
    warn: &mut dyn FnMut(&str),
    stop: &dyn Fn() -> bool,
) -> Result<Vec<File>, RunError> {
    let wanted: Set<(&str, &str)> =
        devices.iter().filter_map(|found| Some((found.uuid.as_deref()?, &*found.device))).collect();
    let mut locks = Vec::new();
    for &(uuid, device) in &*wanted {
        let path = env::temp_dir().join(format!("gpubench-{uuid}.lock"));
        match lock_or_wait(&path, suite, device, wait, warn, stop)? {
            Ok(lock) => locks.push(lock),
            Err(error) => warn(&format!(
                "device `{device}` is not locked against other benchmark binaries: {}: {error}",
                path.display()
            )),
        }
    }
    Ok(locks)
}

/// Locks the file at `path` for a device. If another process has the lock and `wait` is true, warns once and
/// waits. Returns an error if the lock is taken and `wait` is false, or if `stop` returns true during the
/// wait. The inner error means that the file cannot be locked at all.
fn lock_or_wait(
    path: &Path,
    suite: &str,
    device: &str,
    wait: bool,
    warn: &mut dyn FnMut(&str),
    stop: &dyn Fn() -> bool,
) -> Result<io::Result<File>, RunError> {
    let mut file = match open(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let mut warned = false;
    loop {
        match file.try_lock() {
            Ok(()) => {
                write_holder(&mut file, suite);
                return Ok(Ok(file));
            }
            Err(TryLockError::Error(error)) => return Ok(Err(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if !wait {
            return Err(RunError::Device(format!(
                "device `{device}` is being measured by {} (without `no-wait` this would wait)",
                read_holder(&file)
            )));
        }
        if !std::mem::replace(&mut warned, true) {
            warn(&format!(
                "device `{device}` is being measured by {}: waiting (`no-wait = true` in gpubench.toml refuses)",
                read_holder(&file)
            ));
        }
        if stop() {
            return Err(RunError::Interrupted);
        }
        thread::sleep(RETRY_INTERVAL);
    }
}

/// Writes this process into the file, as the holder of the lock. If that fails, other processes still wait,
/// but cannot name the holder.
fn write_holder(file: &mut File, suite: &str) {
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    let signed = format!("process {} (`{suite}`, since {now})", process::id());
    let emptied = file.set_len(0).and_then(|()| file.rewind());
    _ = emptied.and_then(|()| file.write_all(signed.as_bytes()));
}

/// Reads the holder from a file: at most 200 bytes, without control characters, since any user may have written anything there. Returns
/// `another process` if there is no text.
fn read_holder(mut file: &File) -> String {
    let mut bytes = Vec::new();
    _ = file.rewind().and_then(|()| file.take(200).read_to_end(&mut bytes));
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    text.retain(|letter| !letter.is_control());
    if text.is_empty() { "another process".to_owned() } else { text }
}

/// The mode of a lock file: every user of the machine must be able to lock it and to write its holder.
const MODE_READ_WRITE_ALL: u32 = 0o666;

/// Opens the lock file, and creates it if it is missing. Since every user can write to its folder, it does
/// not follow links or wait for pipes. Returns an error for anything but a file with a single name.
fn open(path: &Path) -> io::Result<File> {
    let file = open_or_create(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() > 1 {
        return Err(io::Error::other("it is no lock file: remove it"));
    }
    Ok(file)
}

/// Opens the file for reading and writing, or only for reading if the user may not write to it. If it is
/// missing, creates it so that every user can write to it.
fn open_or_create(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Read access is enough for a lock.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return OpenOptions::new().read(true).custom_flags(flags).open(path);
        }
        opened => return opened,
    }
    match options.create_new(true).open(path) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(MODE_READ_WRITE_ALL))?;
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_or_create(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn take(path: &Path, wait: bool) -> Result<io::Result<File>, RunError> {
        lock_or_wait(path, "suite", "cuda:0", wait, &mut |_| {}, &|| true)
    }

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let lock = take(&path, false).expect("nobody has it").expect("it can be made");
        let refused = take(&path, false).expect_err("it is held").to_string();
        let says = format!("device `cuda:0` is being measured by process {} (`suite`, since ", process::id());
        assert!(refused.starts_with(&says), "{refused}");
        assert!(matches!(take(&path, true), Err(RunError::Interrupted)));
        drop(lock);
        assert!(take(&path, false).is_ok_and(|lock| lock.is_ok()));
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, MODE_READ_WRITE_ALL, "others must be able to lock it too");
    }

    /// A waiting program reports the holder once, and then gets the lock.
    #[test]
    fn a_lock_that_is_waited_for_is_had_once_it_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let held = take(&path, false).expect("nobody has it").expect("it can be made");
        let mut warnings = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(5 * RETRY_INTERVAL / 2);
                drop(held);
            });
            let mut warn = |warning: &str| warnings.push(warning.to_owned());
            let waited = lock_or_wait(&path, "suite", "cuda:0", true, &mut warn, &|| false);
            assert!(waited.is_ok_and(|lock| lock.is_ok()));
        });
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.starts_with("device `cuda:0` is being measured by process "), "{warning}");
        assert!(warning.ends_with(": waiting (`no-wait = true` in gpubench.toml refuses)"), "{warning}");
    }

    /// Devices are locked by what they are, whatever their number; those without a UUID are not.
    #[test]
    fn devices_are_locked_by_their_uuid() {
        let device = |name: &str, uuid: Option<String>| {
            let mut device = Available::new(name, "cuda");
            device.uuid = uuid;
            device
        };
        let uuid = format!("test-{}", process::id());
        let [one, same] = ["cuda:0", "cuda:7"].map(|name| device(name, Some(uuid.clone())));
        let locked = |devices: &[Available]| {
            let mut warn = |warning: &str| panic!("{warning}");
            lock_devices(devices, "suite", false, &mut warn, &|| true).map_err(|error| error.to_string())
        };
        let held = locked(&[one, device("host", None)]).expect("nobody has it");
        assert_eq!(held.len(), 1);
        let refused = locked(std::slice::from_ref(&same)).expect_err("it is held");
        assert!(refused.starts_with("device `cuda:7` is being measured by process "), "{refused}");
        drop(held);
        assert_eq!(locked(&[same]).map(|held| held.len()), Ok(1));
        _ = fs::remove_file(env::temp_dir().join(format!("gpubench-{uuid}.lock")));
    }

    /// A link that another user left in the shared folder is not written through, and stops nobody.
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, theirs) = (folder.path().join("lock"), folder.path().join("theirs"));
        fs::write(&theirs, "precious").expect("it can be written");
        symlink(&theirs, &path).expect("a link");
        assert!(take(&path, false).expect("nobody has it").is_err());
        assert_eq!(fs::read_to_string(&theirs).expect("it is there"), "precious");
    }

    /// What is no file of a lock is neither waited for nor written to.
    #[test]
    fn pipes_and_other_names_of_files_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, theirs) = (folder.path().join("lock"), folder.path().join("theirs"));
        let refused = |path: &Path| {
            let error = take(path, false).expect("nobody has it").expect_err("it is no lock");
            error.to_string()
        };
        fs::write(&theirs, "precious").expect("it can be written");
        fs::hard_link(&theirs, &path).expect("a second name");
        assert_eq!(refused(&path), "it is no lock file: remove it");
        assert_eq!(fs::read_to_string(&theirs).expect("it is there"), "precious");
        fs::remove_file(&path).expect("it is there");
        for mode in [0o666, 0o444] {
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode.into(), 0)
                .expect("a pipe");
            assert_eq!(refused(&path), "it is no lock file: remove it");
            fs::remove_file(&path).expect("it is there");
        }
        fs::create_dir(&path).expect("a folder");
        assert!(take(&path, false).expect("nobody has it").is_err());
    }

    #[test]
    fn whatever_is_in_the_file_can_be_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        for text in [
            "",
            "nonsense",
            "\u{1b}[2J",
            r#"{"pid":1,"suite":"a\u001b[2Jb","since":18446744073709551615}"#,
            r#"{"pid":1,"suite":"","since":253402300800}"#,
        ] {
            fs::write(&path, text).expect("it can be written");
            let held = File::open(&path).expect("it is there");
            held.lock().expect("nobody has it");
            let refused = take(&path, false).expect_err("it is held").to_string();
            assert!(refused.starts_with("device `cuda:0` is being measured by "), "{refused}");
            assert!(!refused.contains(char::is_control), "{refused:?}");
        }
    }
}
