//! The order in which jobs are measured. Jobs that share nothing run side by side, one on each device. Of those that share a link, one
//! runs at a time, with others that do not. Those that share the machine run alone, after all others.

use crate::plan::SharedResource;

/// A job as the schedule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduled {
    /// The number of the thread that measures it.
    pub(super) lane: usize,
    /// The number of its row: jobs that differ in their device alone have the same.
    pub(super) row: usize,
    /// What it shares with jobs on other devices.
    pub(super) shares: SharedResource,
}

impl Scheduled {
    fn runs_beside(&self, other: &Self) -> bool {
        let is = |shared| self.shares == shared || other.shares == shared;
        let both_on_link = self.shares == SharedResource::Link && other.shares == SharedResource::Link;
        self.lane != other.lane && !is(SharedResource::Machine) && !both_on_link
    }
}

/// The jobs that are left, and those in progress, with their numbers.
#[derive(Debug)]
pub(super) struct Schedule {
    waiting: Vec<(usize, Scheduled)>,
    running: Vec<(usize, Scheduled)>,
}

impl Schedule {
    /// Schedules `jobs` on this many lanes. Each kind is in the order of its rows.
    pub(super) fn new(jobs: &[Scheduled], lanes: usize) -> Self {
        let mut waiting: Vec<(usize, Scheduled)> = jobs.iter().copied().enumerate().collect();
        let rank = |shares| match shares {
            _ if lanes < 2 => 0,
            // First: at the end other devices would have to wait for the link.
            SharedResource::Link => 0,
            SharedResource::Nothing => 1,
            SharedResource::Machine => 2,
        };
        waiting.sort_by_key(|(_, job)| (rank(job.shares), job.row));
        Self { waiting, running: Vec::new() }
    }

    /// Begins the next job, if one may begin now.
    pub(super) fn next(&mut self) -> Option<usize> {
        let may_begin =
            |(_, job): &(usize, Scheduled)| self.running.iter().all(|(_, other)| job.runs_beside(other));
        let next = self.waiting.remove(self.waiting.iter().position(may_begin)?);
        self.running.push(next);
        Some(next.0)
    }

    /// Ends a job in progress.
    pub(super) fn end(&mut self, job: usize) {
        self.running.retain(|(number, _)| *number != job);
    }

    /// Returns the job in progress on a lane.
    pub(super) fn on(&self, lane: usize) -> Option<usize> {
        self.running.iter().find(|(_, job)| job.lane == lane).map(|(number, _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows on two lanes, in the order of devices, of which the second is a transfer and the third one of the CPU.
    fn jobs() -> Vec<Scheduled> {
        let shares =
            [SharedResource::Nothing, SharedResource::Link, SharedResource::Machine, SharedResource::Nothing];
        let job = move |lane, row: usize| Scheduled { lane, row, shares: shares[row] };
        (0..2).flat_map(|lane| (0..4).map(move |row| job(lane, row))).collect()
    }

    /// The jobs that are in progress together, until all are done.
    fn steps(mut schedule: Schedule) -> Vec<Vec<usize>> {
        let mut steps = Vec::new();
        loop {
            let together: Vec<usize> = std::iter::from_fn(|| schedule.next()).collect();
            if together.is_empty() {
                return steps;
            }
            together.iter().for_each(|job| schedule.end(*job));
            steps.push(together);
        }
    }

    #[test]
    fn jobs_run_side_by_side_transfers_one_at_a_time_and_the_cpus_alone() {
        let schedule = Schedule::new(&jobs(), 2);
        assert_eq!(steps(schedule), [vec![1, 4], vec![5, 0], vec![3, 7], vec![2], vec![6]]);
    }

    #[test]
    fn jobs_that_all_run_alone_are_in_the_order_of_rows() {
        let alone: Vec<_> =
            jobs().into_iter().map(|job| Scheduled { shares: SharedResource::Machine, ..job }).collect();
        assert_eq!(steps(Schedule::new(&alone, 2)), [[0], [4], [1], [5], [2], [6], [3], [7]]);
    }

    #[test]
    fn one_lane_measures_in_the_order_of_the_plan() {
        let jobs: Vec<_> = jobs().into_iter().filter(|job| job.lane == 0).collect();
        assert_eq!(steps(Schedule::new(&jobs, 1)), [[0], [1], [2], [3]]);
    }

    /// A lane that is done early waits for the others before anything runs alone.
    #[test]
    fn nothing_begins_beside_a_job_that_runs_alone() {
        let mut schedule = Schedule::new(&jobs(), 2);
        let first: Vec<usize> = std::iter::from_fn(|| schedule.next()).collect();
        assert_eq!(first, [1, 4]);
        schedule.end(4);
        assert_eq!(schedule.next(), Some(7), "the link is not free");
        schedule.end(1);
        schedule.end(7);
        let next: Vec<usize> = std::iter::from_fn(|| schedule.next()).collect();
        assert_eq!(next, [5, 0]);
        schedule.end(5);
        assert_eq!(schedule.next(), None, "lane 0 is still at work");
        schedule.end(0);
        assert_eq!(schedule.next(), Some(3));
        assert_eq!(schedule.next(), None);
        schedule.end(3);
        assert_eq!((schedule.next(), schedule.next()), (Some(2), None));
        schedule.end(2);
        assert_eq!((schedule.next(), schedule.on(1)), (Some(6), Some(6)));
    }
}
