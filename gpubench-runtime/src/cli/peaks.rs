//! Peaks as users give them. In: `memory=4800GB/s` or `f32=60TFLOP/s`, several with `;` between them; out: [`Peak`]s, or the
//! sentence that says what is wrong.

use crate::device::{Peak, PeakSource, Quantity};

/// The word for the memory's bandwidth. Any other is a precision.
const MEMORY: &str = "memory";

const BANDWIDTHS: [(&str, f64); 3] = [("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)];
const THROUGHPUTS: [(&str, f64); 3] = [("GFLOP/s", 1e9), ("TFLOP/s", 1e12), ("PFLOP/s", 1e15)];

/// Every peak that is given, each of another quantity.
pub(super) fn parse_peaks(given: &[String]) -> Result<Vec<Peak>, String> {
    let mut peaks: Vec<Peak> = Vec::new();
    for text in given.iter().flat_map(|given| given.split(';')).map(str::trim) {
        let peak = parse(text)?;
        if peaks.iter().any(|other| other.quantity == peak.quantity) {
            return Err(format!("--peak {text}: this peak is given twice"));
        }
        peaks.push(peak);
    }
    Ok(peaks)
}

fn parse(text: &str) -> Result<Peak, String> {
    let (quantity, value) = match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        None | Some(("", _)) => {
            return Err(format!(
                "--peak {text}: give `{MEMORY}` or a precision, and its peak, such as {MEMORY}=4800GB/s or \"f16 tensor=300TFLOP/s\""
            ));
        }
        Some((MEMORY, value)) => (
            Quantity::MemoryBandwidth,
            with_unit(value, &BANDWIDTHS).ok_or_else(|| {
                format!("--peak {text}: give a bandwidth above 0 in MB/s, GB/s or TB/s, such as {MEMORY}=4800GB/s")
            })?,
        ),
        Some((precision, value)) => (
            Quantity::Compute(precision.to_owned()),
            with_unit(value, &THROUGHPUTS).ok_or_else(|| {
                format!(
                    "--peak {text}: give a throughput above 0 in GFLOP/s, TFLOP/s or PFLOP/s, such as f32=60TFLOP/s"
                )
            })?,
        ),
    };
    Ok(Peak { quantity, value, source: PeakSource::User, method: "--peak".to_owned(), uncertain: false })
}

/// The number before one of these units, in units of 1.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let value = number.trim_end().parse::<f64>().ok()? * factor;
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(given: &[&str]) -> Result<Vec<(Quantity, f64)>, String> {
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        Ok(parse_peaks(&given)?.into_iter().map(|peak| (peak.quantity, peak.value)).collect())
    }

    #[test]
    fn peaks_are_read_as_written() {
        let memory = |value| (Quantity::MemoryBandwidth, value);
        let compute = |precision: &str, value| (Quantity::Compute(precision.to_owned()), value);
        assert_eq!(parsed(&[]), Ok(Vec::new()));
        assert_eq!(
            parsed(&["memory=4800GB/s", "f32=60TFLOP/s"]),
            Ok(vec![memory(4.8e12), compute("f32", 60e12)])
        );
        // As an environment variable has them, with spaces where people put them.
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
            ("memory=0GB/s", "give a bandwidth above 0"),
            ("memory=infGB/s", "give a bandwidth above 0"),
            ("f32=4800GB/s", "--peak f32=4800GB/s: give a throughput above 0 in GFLOP/s, TFLOP/s or PFLOP/s"),
            ("f32=-1TFLOP/s", "give a throughput above 0"),
            ("f32=1TFLOP/s;f32=2TFLOP/s", "--peak f32=2TFLOP/s: this peak is given twice"),
        ] {
            let error = parsed(&[given]).expect_err("it is wrong");
            assert!(error.contains(words), "no `{words}` in `{error}`");
        }
    }
}
