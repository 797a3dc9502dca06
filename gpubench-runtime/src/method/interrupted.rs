//! Separates samples that other programs interrupted from the others.

use gpubench_stats::{Nanoseconds, SMALLEST_SAMPLE};

/// Splits `events` into undisturbed and interrupted ones. `marks` are true for interrupted events. If there
/// are more marks than events, the last marks belong to the events. Returns `None` if no event is marked, if
/// there are fewer marks than events, or if the undisturbed events are too few for an interval.
pub(super) fn split_interrupted(
    events: &[Nanoseconds],
    marks: Option<&[bool]>,
) -> Option<[Vec<Nanoseconds>; 2]> {
    let marks = marks?;
    let marks = &marks[marks.len().checked_sub(events.len())?..];
    let of = |wanted: bool| {
        let chosen = events.iter().zip(marks).filter(|(_, mark)| **mark == wanted);
        chosen.map(|(event, _)| *event).collect::<Vec<_>>()
    };
    let [undisturbed, interrupted] = [of(false), of(true)];
    let leaves_out = !interrupted.is_empty() && undisturbed.len() >= SMALLEST_SAMPLE;
    leaves_out.then_some([undisturbed, interrupted])
}

/// Returns the number of true marks among the last `events` marks; 0 without marks.
pub(super) fn count_interrupted(events: usize, marks: Option<&[bool]>) -> usize {
    marks.map_or(0, |marks| marks.iter().rev().take(events).filter(|mark| **mark).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(count: usize) -> Vec<Nanoseconds> {
        (0..count).map(|number| Nanoseconds(number as f64)).collect()
    }

    #[test]
    fn interrupted_samples_are_separated() {
        let events = events(8);
        let marks = [true, false, false, true, false, false, false, false, true, false];
        let [undisturbed, interrupted] = split_interrupted(&events, Some(&marks)).expect("six are enough");
        assert_eq!(
            undisturbed.iter().map(|event| event.0).collect::<Vec<_>>(),
            [0.0, 2.0, 3.0, 4.0, 5.0, 7.0]
        );
        assert_eq!(interrupted, [Nanoseconds(1.0), Nanoseconds(6.0)]);
    }

    #[test]
    fn all_samples_count_if_too_few_were_undisturbed_or_nothing_is_known() {
        let events = events(7);
        assert_eq!(split_interrupted(&events, Some(&[true, true, false, false, false, false, false])), None);
        assert_eq!(split_interrupted(&events, Some(&[false; 7])), None);
        assert_eq!(split_interrupted(&events, Some(&[true; 6])), None, "some have no mark");
        assert_eq!(split_interrupted(&events, None), None);
        assert_eq!(count_interrupted(3, Some(&[true, false, true, true])), 2);
        assert_eq!((count_interrupted(3, Some(&[true])), count_interrupted(3, None)), (1, 0));
    }
}
