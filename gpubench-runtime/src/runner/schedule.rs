//! The order in which jobs are measured. In: the jobs of a plan, each with its lane; out: the next job that may begin. Jobs
//! that share nothing run side by side, one on each lane. Of those that share a link, one runs at a time, beside others that
//! do not. Those that share the machine run alone, behind all others.

use std::collections::VecDeque;

use crate::plan::SharedResource;

/// A job as the schedule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduled {
    /// The lane that measures it.
    pub(super) lane: usize,
    /// The number of its row: jobs that differ in their device alone have the same.
    pub(super) row: usize,
    /// What it shares with jobs on other lanes.
    pub(super) shares: SharedResource,
}

/// The jobs that are left, and those in progress.
#[derive(Debug)]
pub(super) struct Schedule {
    jobs: Vec<Scheduled>,
    /// For each lane, the jobs that share nothing, and those that share a link.
    beside: Vec<[VecDeque<usize>; 2]>,
    alone: VecDeque<usize>,
    /// The job in progress on each lane.
    running: Vec<Option<usize>>,
}

impl Schedule {
    /// Schedules `jobs` on so many lanes; all of them alone if there is one lane. Each kind is in the order of its rows.
    pub(super) fn of(jobs: &[Scheduled], lanes: usize) -> Self {
        let mut by_row: Vec<usize> = (0..jobs.len()).collect();
        by_row.sort_by_key(|job| jobs[*job].row);
        let (mut beside, mut alone) = (vec![<[VecDeque<usize>; 2]>::default(); lanes], VecDeque::new());
        for job in by_row {
            let Scheduled { lane, shares, .. } = jobs[job];
            match shares {
                _ if lanes < 2 => alone.push_back(job),
                SharedResource::Nothing => beside[lane][0].push_back(job),
                SharedResource::Link => beside[lane][1].push_back(job),
                SharedResource::Machine => alone.push_back(job),
            }
        }
        Self { jobs: jobs.to_vec(), running: vec![None; lanes], beside, alone }
    }

    /// Begins the next job, if one may begin now.
    pub(super) fn next(&mut self) -> Option<usize> {
        let in_progress = || self.running.iter().flatten().map(|job| self.jobs[*job].shares);
        if self.alone_in_progress() {
            return None;
        }
        let link_is_free = in_progress().all(|shares| shares != SharedResource::Link);
        let free: Vec<usize> = (0..self.running.len()).filter(|lane| self.running[*lane].is_none()).collect();
        let mut beside = None;
        for lane in free {
            let [nothing, link] = &mut self.beside[lane];
            // Those over links first: at the end other lanes would have to wait for them.
            beside = if link_is_free { link.pop_front() } else { None }.or_else(|| nothing.pop_front());
            if beside.is_some() {
                break;
            }
        }
        let next = match beside {
            Some(job) => job,
            None if self.is_idle() => self.alone.pop_front()?,
            None => return None,
        };
        self.running[self.jobs[next].lane] = Some(next);
        Some(next)
    }

    /// Returns true if the job in progress is one that runs alone.
    fn alone_in_progress(&self) -> bool {
        let one_lane = self.running.len() < 2;
        self.running.iter().flatten().any(|job| one_lane || self.jobs[*job].shares == SharedResource::Machine)
    }

    /// Ends a job in progress.
    pub(super) fn end(&mut self, job: usize) {
        self.running[self.jobs[job].lane] = None;
    }

    /// The job in progress on a lane.
    pub(super) fn on(&self, lane: usize) -> Option<usize> {
        self.running[lane]
    }

    /// Returns true if no job is in progress.
    pub(super) fn is_idle(&self) -> bool {
        self.running.iter().all(Option::is_none)
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
        let schedule = Schedule::of(&jobs(), 2);
        assert_eq!(steps(schedule), [vec![1, 4], vec![0, 5], vec![3, 7], vec![2], vec![6]]);
    }

    #[test]
    fn jobs_that_all_run_alone_are_in_the_order_of_rows() {
        let alone: Vec<_> =
            jobs().into_iter().map(|job| Scheduled { shares: SharedResource::Machine, ..job }).collect();
        assert_eq!(steps(Schedule::of(&alone, 2)), [[0], [4], [1], [5], [2], [6], [3], [7]]);
    }

    #[test]
    fn one_lane_measures_in_the_order_of_the_plan() {
        let jobs: Vec<_> = jobs().into_iter().filter(|job| job.lane == 0).collect();
        assert_eq!(steps(Schedule::of(&jobs, 1)), [[0], [1], [2], [3]]);
    }

    /// A lane that is done early waits for the others before anything runs alone.
    #[test]
    fn nothing_begins_beside_a_job_that_runs_alone() {
        let mut schedule = Schedule::of(&jobs(), 2);
        let first: Vec<usize> = std::iter::from_fn(|| schedule.next()).collect();
        assert_eq!(first, [1, 4]);
        schedule.end(4);
        assert_eq!(schedule.next(), Some(7), "the link is not free");
        schedule.end(1);
        schedule.end(7);
        let next: Vec<usize> = std::iter::from_fn(|| schedule.next()).collect();
        assert_eq!(next, [0, 5]);
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
