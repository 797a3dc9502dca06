//! The decisions on all cases that are compared with a baseline: ratio, answer and regression, from the medians of the processes that measured
//! each case. However many cases there are, at most one in a hundred of those called slower or faster is so by chance.

use crate::{Answer, AssumedSpread, Threshold};
use gpubench_stats::{Median, Nanoseconds, ProcessRatio, Ratio, benjamini_hochberg};

/// The number of processes, of both sides together, from which on the spread between processes is computed.
/// With fewer, it is assumed.
const MIN_PROCESSES_FOR_SPREAD: usize = 3;

/// The maximum number of further processes that measure the cases that seem to be regressions. After these,
/// the answers are final.
pub const MAX_REMEASURING_PROCESSES: usize = 8;

/// The medians of one case, one for each process that measured it, in the run (`now`) and in the baseline
/// (`then`). [`decide_cases`] compares the two.
#[derive(Clone, Debug)]
pub struct CaseMedians {
    /// The median of each process of the run, with its interval.
    pub now: Vec<Median>,
    /// The median of each process of the baseline, with its interval.
    pub then: Vec<Median>,
    /// True if the run and the baseline used the same device.
    pub same_device: bool,
    /// The difference between processes that is assumed if fewer than three processes, of both sides
    /// together, measured the case.
    pub assumed: AssumedSpread,
}

/// The decision on a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseDecision {
    /// The time in the run divided by the time in the baseline, with the interval of this case alone.
    pub ratio: Ratio,
    /// The geometric means of the medians: of the run, and of the baseline.
    pub times: [Nanoseconds; 2],
    /// True if the interval includes the spread between processes, measured on one device.
    pub noise_known: bool,
    /// The assumed difference between processes; `None` if it was measured.
    pub assumed: Option<AssumedSpread>,
    /// The answer after the correction for many cases.
    pub answer: Answer,
    /// True if the case is a regression according to the threshold, after the correction for many cases.
    pub regressed: bool,
    /// True if the case seems to be a regression, so that more processes should measure it.
    pub seems_regressed: bool,
}

/// The decision on one case alone, with the p-values of two tests: that it is slower, and that it is faster.
struct CaseTest {
    decision: CaseDecision,
    slower: f64,
    faster: f64,
}

/// Decides whether each of `cases` is faster, slower, the same or undecided, and whether it is a regression
/// of at least `threshold`. The medians have intervals of the confidence 1 − `error`, and differences up to
/// `margin` count as the same. The entry of a case is `None` if a side has no medians, or if a median's
/// interval reaches zero.
///
/// By chance alone, one case in a hundred would seem faster or slower by its 99 % interval, and more if
/// processes differ. So the procedure of Benjamini & Hochberg selects the slower cases, the faster ones and
/// the regressions: of each of these three, on average at most the fraction `error` is wrong. A single case
/// has the answer of its own interval.
pub fn decide_cases(
    cases: &[CaseMedians],
    margin: f64,
    threshold: Option<Threshold>,
    error: f64,
) -> Vec<Option<CaseDecision>> {
    let mut tested: Vec<_> = cases.iter().map(|case| test_case(case, margin, threshold, error)).collect();
    let found = |p: fn(&CaseTest) -> f64| {
        let tests = tested.iter().enumerate().filter_map(|(number, row)| Some((number, p(row.as_ref()?))));
        let mut found = vec![false; tested.len()];
        for number in benjamini_hochberg(&tests.collect::<Vec<_>>(), error) {
            found[number] = true;
        }
        found
    };
    let slower = found(|row| row.slower);
    let faster = found(|row| row.faster);
    // Cases that are slower by less than the threshold are no candidates.
    let regressed = found(|row| if row.decision.regressed { row.slower } else { 1.0 });
    for (number, row) in tested.iter_mut().enumerate() {
        let Some(CaseTest { decision, .. }) = row else { continue };
        // A case that is slower by the threshold or more, but not surely enough, must not pass as slower by less.
        let is_unsure = decision.regressed && !regressed[number];
        decision.regressed = regressed[number];
        decision.answer = match decision.answer {
            Answer::Slower if is_unsure || !slower[number] => Answer::Undecided,
            Answer::Faster if !faster[number] => Answer::Undecided,
            answer => answer,
        };
    }
    tested.into_iter().map(|row| Some(row?.decision)).collect()
}

/// Decides on one case alone, before the correction for many cases. Returns `None` if a side has no medians,
/// or if a median's interval reaches zero.
fn test_case(case: &CaseMedians, margin: f64, threshold: Option<Threshold>, error: f64) -> Option<CaseTest> {
    let CaseMedians { now, then, same_device, assumed } = case;
    let found = ProcessRatio::from_medians(now, then, 1.0 - error)?;
    let is_measured = now.len() + then.len() >= MIN_PROCESSES_FOR_SPREAD;
    let assumed = (!is_measured).then_some(*assumed);
    let found = match assumed {
        Some(AssumedSpread::UpTo(difference)) => found.allowing_for(difference),
        Some(AssumedSpread::Any) | None => found,
    };
    let (ratio, times, most) = (found.ratio(), found.times, 1.0 + margin);
    let noise_known = is_measured && *same_device;
    let is_decidable = assumed != Some(AssumedSpread::Any);
    let answer = if is_decidable { Answer::from_ratio(&ratio, margin) } else { Answer::Undecided };
    let regressed = threshold.is_some_and(|threshold| threshold.is_exceeded(&ratio, answer, noise_known));
    let least = match threshold {
        Some(Threshold::Fraction(part)) => 1.0 + part,
        Some(Threshold::Noise) if *same_device => most,
        Some(Threshold::Noise) | None => f64::INFINITY,
    };
    let seems_regressed = ratio.value >= least && middle_time(now) > most * times[1];
    let decision = CaseDecision { ratio, times, noise_known, assumed, answer, regressed, seems_regressed };
    let p = |p: f64| if is_decidable { p } else { 1.0 };
    Some(CaseTest { decision, slower: p(found.p_above(most)), faster: p(found.p_below(1.0 / most)) })
}

/// Returns the middle one of the medians in the order of time; for an even number, the lower of the middle
/// two. `medians` must not be empty.
fn middle_time(medians: &[Median]) -> Nanoseconds {
    let mut times: Vec<Nanoseconds> = medians.iter().map(|median| median.time).collect();
    gpubench_stats::sort_by(&mut times, Nanoseconds::total_cmp);
    times[(times.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::{DECISION_ERROR, Interval};

    /// A row that one process measured to a part in a thousand, now this many times as long as then, where processes do not differ.
    fn row(ratio: f64) -> CaseMedians {
        let median = |time: f64| Median {
            time: Nanoseconds(time),
            interval: Interval { low: Nanoseconds(0.999 * time), high: Nanoseconds(1.001 * time) },
        };
        CaseMedians {
            now: vec![median(1000.0 * ratio)],
            then: vec![median(1000.0)],
            same_device: true,
            assumed: AssumedSpread::UpTo(0.0),
        }
    }

    fn answers(ratios: &[f64]) -> Vec<Answer> {
        let rows: Vec<CaseMedians> = ratios.iter().map(|ratio| row(*ratio)).collect();
        decide_cases(&rows, 0.005, None, DECISION_ERROR)
            .into_iter()
            .map(|row| row.expect("times are above zero").answer)
            .collect()
    }

    /// Half of the row's interval is 0.14 %: 0.65 % is beyond the band alone, and in one row of a hundred no news.
    #[test]
    fn what_one_row_shows_many_rows_show_by_chance() {
        assert_eq!(answers(&[1.0065]), [Answer::Slower]);
        assert_eq!(answers(&[1.0 / 1.0065]), [Answer::Faster]);
        let mut many = vec![1.0; 99];
        many.push(1.0065);
        let inverse = |ratios: &[f64]| answers(&ratios.iter().map(|ratio| 1.0 / ratio).collect::<Vec<_>>());
        assert_eq!((answers(&many)[0], answers(&many)[99]), (Answer::Same, Answer::Undecided));
        assert_eq!((inverse(&many)[0], inverse(&many)[99]), (Answer::Same, Answer::Undecided));
        many.push(1.02);
        assert_eq!(answers(&many)[100], Answer::Slower, "that is beyond chance");
        assert_eq!(inverse(&many)[100], Answer::Faster);
        assert_eq!(answers(&[1.0065; 100]), [Answer::Slower; 100], "all of them are");
    }

    /// One case at +6 % that is unsure among nine that are surely +2 %: it is undecided and not slower by less than 5 %.
    #[test]
    fn an_unsure_regression_is_undecided() {
        let widen = |medians: &mut Vec<Median>| {
            let median = &mut medians[0];
            median.interval = Interval { low: median.time * 0.967, high: median.time * 1.033 };
        };
        let mut unsure = row(1.06);
        widen(&mut unsure.now);
        widen(&mut unsure.then);
        let mut rows = vec![row(1.02); 9];
        rows.push(unsure.clone());
        let decide = |rows: &[CaseMedians], threshold| {
            let decisions = decide_cases(rows, 0.005, threshold, DECISION_ERROR);
            let last = decisions.last().copied().flatten().expect("times are above zero");
            (last.answer, last.regressed)
        };
        let threshold = Some(Threshold::Fraction(0.05));
        assert_eq!(decide(&rows, threshold), (Answer::Undecided, false));
        assert_eq!(decide(&rows, None), (Answer::Slower, false), "without a gate it is slower");
        assert_eq!(decide(&[unsure], threshold), (Answer::Slower, true), "alone it is a regression");
    }

    #[test]
    fn a_row_seems_to_be_a_regression_until_its_processes_say_otherwise() {
        let seems = |row: &CaseMedians, threshold| {
            let decision = decide_cases(std::slice::from_ref(row), 0.005, Some(threshold), DECISION_ERROR)[0];
            decision.expect("times are above zero").seems_regressed
        };
        let (part, noise) = (Threshold::Fraction(0.05), Threshold::Noise);
        assert!(seems(&row(1.06), part) && seems(&row(1.06), noise));
        assert!(!seems(&row(1.03), part) && seems(&row(1.03), noise));
        let mut again = row(1.12);
        again.now.extend(row(1.0).now);
        assert!(!seems(&again, part), "the lower of two is as before");
        let elsewhere = CaseMedians { same_device: false, ..row(1.06) };
        assert!(seems(&elsewhere, part) && !seems(&elsewhere, noise), "noise stays unknown there");
    }

    /// A difference up to the assumed one is no answer, and one beyond it is, however many rows there are. Three processes or more
    /// are no assumption.
    #[test]
    fn one_process_on_each_side_decides_beyond_the_assumed_difference() {
        let with = |ratio, assumed| CaseMedians { assumed, ..row(ratio) };
        let decided = |row: CaseMedians| {
            let mut rows = vec![with(1.0, AssumedSpread::UpTo(0.4)); 71];
            rows.push(row);
            let threshold = Some(Threshold::Fraction(0.05));
            let found = decide_cases(&rows, 0.005, threshold, DECISION_ERROR)
                .pop()
                .flatten()
                .expect("times are above zero");
            (found.answer, found.regressed, found.assumed)
        };
        let shared = AssumedSpread::UpTo(0.4);
        for ratio in [1.0, 1.3, 1.39, 1.0 / 1.39] {
            let undecided = (Answer::Undecided, false, Some(shared));
            assert_eq!(decided(with(ratio, shared)), undecided, "{ratio}");
        }
        assert_eq!(decided(with(1.5, shared)), (Answer::Slower, true, Some(shared)));
        assert_eq!(decided(with(1.0 / 1.5, shared)), (Answer::Faster, false, Some(shared)));
        let own = AssumedSpread::UpTo(0.02);
        assert_eq!(decided(with(1.2, own)), (Answer::Slower, true, Some(own)));
        let any = Some(AssumedSpread::Any);
        assert_eq!(decided(with(20.0, AssumedSpread::Any)), (Answer::Undecided, false, any));
        let mut measured = with(1.1, AssumedSpread::Any);
        measured.then.extend([measured.then[0]; 2]);
        assert_eq!(decided(measured), (Answer::Slower, true, None));
    }

    /// Three processes on this very device, now and then together.
    #[test]
    fn what_processes_differ_by_takes_three_of_them_on_one_device() {
        let known = |now: usize, then: usize, same_device| {
            let one = row(1.0);
            let [now, then] = [(one.now, now), (one.then, then)].map(|(median, count)| median.repeat(count));
            let row = CaseMedians { now, then, same_device, ..row(1.0) };
            let decision = decide_cases(&[row], 0.005, None, DECISION_ERROR)[0];
            decision.expect("times are above zero").noise_known
        };
        assert!(known(1, 2, true) && known(2, 1, true) && known(5, 5, true));
        assert!(!known(1, 1, true) && !known(1, 2, false) && !known(5, 5, false));
    }
}
