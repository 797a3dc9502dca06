//! The order in which jobs are measured. In: the jobs of a plan, each with its lane; out: the next job that may begin. Jobs
//! that share nothing run side by side, one on each lane. The others run alone, behind them: transfers share the bus and the
//! host's memory, and the CPU feeds the GPUs.

use std::collections::VecDeque;

/// A job as the schedule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduled {
    /// The lane that measures it.
    pub(super) lane: usize,
    /// The number of its row: jobs that differ in their device alone have the same.
    pub(super) row: usize,
    /// True if nothing else may be measured meanwhile.
    pub(super) alone: bool,
}

/// The jobs that are left, and those in progress.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The lane of each job.
    lanes: Vec<usize>,
    /// For each lane, the jobs that run beside those of others.
    beside: Vec<VecDeque<usize>>,
    alone: VecDeque<usize>,
    /// The job in progress on each lane.
    running: Vec<Option<usize>>,
    /// True if the job in progress is one of those that run alone.
    is_alone: bool,
}

impl Schedule {
    /// Schedules `jobs` on so many lanes; all of them alone if there is one lane. Jobs that run alone are in the order of their
    /// rows.
    pub(super) fn of(jobs: &[Scheduled], lanes: usize) -> Self {
        let all_alone = lanes < 2;
        let mut by_row: Vec<usize> = (0..jobs.len()).collect();
        by_row.sort_by_key(|job| jobs[*job].row);
        let (mut beside, mut alone) = (vec![VecDeque::new(); lanes], VecDeque::new());
        for job in by_row {
            let Scheduled { lane, alone: is_alone, .. } = jobs[job];
            if all_alone || is_alone { alone.push_back(job) } else { beside[lane].push_back(job) }
        }
        let lanes: Vec<usize> = jobs.iter().map(|job| job.lane).collect();
        Self { running: vec![None; beside.len()], lanes, beside, alone, is_alone: false }
    }

    /// Begins the next job, if one may begin now.
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.is_idle() {
            self.is_alone = false;
        }
        if self.is_alone {
            return None;
        }
        let free = (0..self.running.len()).filter(|lane| self.running[*lane].is_none());
        let beside = free.clone().find_map(|lane| self.beside[lane].pop_front());
        let next = match beside {
            Some(job) => job,
            None if self.is_idle() => {
                self.is_alone = true;
                self.alone.pop_front()?
            }
            None => return None,
        };
        self.running[self.lanes[next]] = Some(next);
        Some(next)
    }

    /// Ends a job in progress.
    pub(super) fn end(&mut self, job: usize) {
        self.running[self.lanes[job]] = None;
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

    /// Three rows on two lanes, in the order of devices, of which the second row runs alone.
    fn jobs() -> Vec<Scheduled> {
        let job = |lane, row| Scheduled { lane, row, alone: row == 1 };
        (0..2).flat_map(|lane| (0..3).map(move |row| job(lane, row))).collect()
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
    fn jobs_run_side_by_side_and_those_that_share_something_alone_behind_them() {
        let schedule = Schedule::of(&jobs(), 2);
        assert_eq!(steps(schedule), [vec![0, 3], vec![2, 5], vec![1], vec![4]]);
    }

    #[test]
    fn jobs_that_all_run_alone_are_in_the_order_of_rows() {
        let alone: Vec<_> = jobs().into_iter().map(|job| Scheduled { alone: true, ..job }).collect();
        assert_eq!(steps(Schedule::of(&alone, 2)), [[0], [3], [1], [4], [2], [5]]);
    }

    #[test]
    fn one_lane_measures_in_the_order_of_the_plan() {
        let jobs: Vec<_> = (0..4).map(|row| Scheduled { lane: 0, row, alone: row % 2 == 0 }).collect();
        assert_eq!(steps(Schedule::of(&jobs, 1)), [[0], [1], [2], [3]]);
    }

    /// A lane that is done early waits for the others before anything runs alone.
    #[test]
    fn nothing_begins_beside_a_job_that_runs_alone() {
        let mut schedule = Schedule::of(&jobs(), 2);
        let first: Vec<usize> = std::iter::from_fn(|| schedule.next()).collect();
        assert_eq!(first, [0, 3]);
        schedule.end(0);
        assert_eq!(schedule.next(), Some(2));
        schedule.end(2);
        assert_eq!(schedule.next(), None, "lane 1 has jobs beside others left");
        schedule.end(3);
        assert_eq!(schedule.next(), Some(5));
        assert_eq!(schedule.next(), None);
        schedule.end(5);
        assert_eq!((schedule.next(), schedule.next()), (Some(1), None));
        schedule.end(1);
        assert_eq!((schedule.next(), schedule.on(1)), (Some(4), Some(4)));
    }
}
