//! Peaks on the command line. In: `memory=4800GB/s` or `f32=60TFLOP/s`, several with `;` between them. Out:
//! [`Peak`]s, or an [`OptionsError`].

use crate::config::read_peak;
use crate::suite::options::OptionsError;
use gpubench_records::facts::{Peak, PeakSource};
use gpubench_stats::units::Rate;

/// Reads all given peaks, each of a different quantity.
pub(super) fn parse_peaks(given: &[String]) -> Result<Vec<Peak>, OptionsError> {
    let mut found: Vec<Peak> = Vec::new();
    for text in given.iter().flat_map(|given| given.split(';')).map(str::trim) {
        let peak = parse(text)?;
        if found.iter().any(|other| other.quantity == peak.quantity) {
            return Err(OptionsError::PeakTwice(text.to_owned()));
        }
        found.push(peak);
    }
    Ok(found)
}

fn parse(text: &str) -> Result<Peak, OptionsError> {
    let (name, value) = match text.split_once('=').map(|(name, value)| (name.trim(), value)) {
        None | Some(("", _)) => return Err(OptionsError::NoPeak(text.to_owned())),
        Some(both) => both,
    };
    let unreadable = |error| OptionsError::Peak { given: text.to_owned(), error };
    let (quantity, value) = read_peak(name, value).map_err(unreadable)?;
    Ok(Peak::new(quantity, Rate(value), PeakSource::User, "--peak"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::facts::Quantity;

    fn parsed(given: &[&str]) -> Result<Vec<(Quantity, f64)>, String> {
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        let peaks = parse_peaks(&given).map_err(|error| error.to_string())?;
        Ok(peaks.into_iter().map(|peak| (peak.quantity, peak.value.0)).collect())
    }

    #[test]
    fn peaks_are_read_as_written() {
        let memory = |value| (Quantity::MemoryBandwidth, value);
        let compute = |precision: &str, value| (Quantity::Compute(precision.to_owned()), value);
        assert_eq!(parsed(&[]), Ok(Vec::new()));
        assert_eq!(
            parsed(&["memory=4800GB/s", "f32=60TFLOP/s", "h2d=55GB/s"]),
            Ok(vec![memory(4.8e12), compute("f32", 60e12), (Quantity::HostToDevice, 55e9)])
        );
        // The form of an environment variable, with spaces as people may put them.
        assert_eq!(
            parsed(&["memory = 4.8 TB/s; bf16 tensor=0.5PFLOP/s"]),
            Ok(vec![memory(4.8e12), compute("bf16 tensor", 0.5e15)])
        );
    }

    #[test]
    fn mistakes_are_told_with_what_to_write() {
        for (given, words) in [
            ("memory", "--peak memory: give `memory` or a precision, and its peak"),
            ("=1GB/s", "--peak =1GB/s: give `memory` or a precision"),
            ("memory=4800", "--peak memory=4800: give a bandwidth above 0 in MB/s, GB/s or TB/s"),
            ("memory=60TFLOP/s", "give a bandwidth above 0"),
            ("p2p=60TFLOP/s", "give a bandwidth above 0"),
            ("memory=0GB/s", "give a bandwidth above 0"),
            ("memory=infGB/s", "give a bandwidth above 0"),
            ("f32=4800GB/s", "--peak f32=4800GB/s: give a throughput above 0 in GFLOP/s, TFLOP/s or PFLOP/s"),
            ("mem=4800GB/s", "bandwidths are memory, l2, h2d, d2h and p2p"),
            ("f32=-1TFLOP/s", "give a throughput above 0"),
            ("f32=1TFLOP/s;f32=2TFLOP/s", "--peak f32=2TFLOP/s: this peak is given twice"),
        ] {
            let error = parsed(&[given]).expect_err("it is wrong");
            assert!(error.contains(words), "no `{words}` in `{error}`");
        }
    }
}
