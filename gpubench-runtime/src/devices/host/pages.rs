//! Pages of fresh inputs. The operating system supplies a page at its first write, which takes longer than
//! many launches.

use std::fs;

use crate::{device::Work, system::machine::Stat};

/// The most new pages during a launch whose time counts.
const MOST_NEW_PAGES: u64 = 8;

/// Makes the operating system supply all known pages of the inputs of `work`. Linux supports this since 5.14.
/// On an older system it does nothing, and [`met_few_pages_since`] detects launches that meet new pages.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix offers it as an unsafe function, since other advice drops contents")]
pub(super) fn populate_pages(work: &dyn Work) {
    use std::ptr;

    use rustix::mm::{Advice, madvise};

    let page = rustix::param::page_size();
    work.memory(&mut |memory| {
        let addresses = memory.addresses();
        let start = addresses.start / page * page;
        let bytes = addresses.end.next_multiple_of(page) - start;
        if !addresses.is_empty() {
            let start = ptr::with_exposed_provenance_mut(start);
            // SAFETY: this advice changes no contents, and the system refuses addresses that are not mapped
            // or not writable.
            _ = unsafe { madvise(start, bytes, Advice::LinuxPopulateWrite) };
        }
    });
}

/// Does nothing: other operating systems do not support this.
#[cfg(not(target_os = "linux"))]
pub(super) fn populate_pages(_: &dyn Work) {}

/// Returns true if this process has had at most [`MOST_NEW_PAGES`] page faults since [`page_faults`] returned
/// `before`, or if they are not counted.
pub(super) fn met_few_pages_since(before: Option<u64>) -> bool {
    page_faults().zip(before).is_none_or(|(now, before)| now - before <= MOST_NEW_PAGES)
}

/// Returns the number of minor page faults of this process so far, each of which supplies a new page. Returns
/// `None` if the operating system does not count them.
pub(super) fn page_faults() -> Option<u64> {
    Stat::read(&fs::read_to_string("/proc/self/stat").ok()?)?.number(10)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::device::Memory;
    use gpubench_records::failure::Failure;

    struct Untouched(Vec<u8>);

    impl Work for Untouched {
        fn launch(&mut self) -> Result<(), Failure> {
            self.0.chunks_mut(4096).for_each(|page| page[0] = 1);
            Ok(())
        }

        fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
            visit(Memory::of(&self.0));
            true
        }
    }

    #[test]
    fn a_launch_meets_fewer_new_pages_after_they_were_populated() {
        let launch = |populated: bool| {
            let mut work = Untouched(vec![0; 128 << 20]);
            if populated {
                populate_pages(&work);
            }
            let before = page_faults();
            work.launch().expect("it launches");
            page_faults().zip(before).map(|(now, before)| now - before)
        };
        let [new, there] = [false, true].map(launch);
        assert!(new > Some(MOST_NEW_PAGES), "{new:?}");
        // Older systems do not know the advice.
        assert!(there < new, "{there:?} of {new:?}");
    }

    #[test]
    fn memory_that_cannot_be_written_is_left_alone() {
        struct Constant;
        impl Work for Constant {
            fn launch(&mut self) -> Result<(), Failure> {
                Ok(())
            }

            fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
                visit(Memory::of(b"constant"));
                visit(Memory::of::<u8>(&[]));
                true
            }
        }
        populate_pages(&Constant);
    }
}
