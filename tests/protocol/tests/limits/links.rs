//! Transfers are compared with their link, as far as NVIDIA's management library tells of it.

use end_to_end::running::SettingsFile;
use gpubench_records::device_info::Quantity;
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};
use protocol::fake::{Measured, measure};

use super::{LASTING, impossible};

/// 16 lanes of PCIe 5.0, in bytes a second.
const PCIE_5: f64 = 16.0 * 32e9 * 128.0 / 130.0 / 8.0;
/// The time of the fake for a copy of 256 KiB between host and device, in nanoseconds: its launch, and 55 bytes each.
const COPY: f64 = 549.4 + (256 << 10) as f64 / 55.0;

fn shares(run: &Run, quantity: &Quantity) -> Vec<Option<f64>> {
    let measured = run.records.iter().map(|record| record.measurement.as_ref().expect("it was measured"));
    measured.map(|measured| measured.metrics.share(quantity)).collect()
}

/// Up says what it reads and writes, which crosses once; down how many bytes it moves.
#[test]
fn copies_are_a_part_of_their_bus() {
    let arguments = ["--quick", "::up", "::down", "--explain", "--color", "never"];
    let Measured { ended, run, .. } = measure(LASTING, &arguments, &[("PCIE", "5x16")]);
    let ended = ended.with_code(0);
    let [up, down] = [Quantity::HostToDevice, Quantity::DeviceToHost];
    for (quantity, row) in [(&up, 0), (&down, 1)] {
        let share = shares(&run, quantity)[row].expect("the peak is known");
        let truth = (256 << 10) as f64 / COPY * 1e9 / PCIE_5;
        assert!((share / truth - 1.0).abs() < 0.01, "{share}, and not {truth}");
        let bandwidth = run.records[row].measurement.as_ref().and_then(|measured| measured.metrics.bandwidth);
        assert_eq!(bandwidth.map(|rate| rate.0 / PCIE_5), Some(share));
        assert_eq!(shares(&run, quantity)[1 - row], None);
    }
    assert_eq!(shares(&run, &Quantity::MemoryBandwidth), [None; 2]);
    let method = "(from attributes: PCIe 5.0: 16 lanes × 32 GT/s × 128/130 / 8)";
    ended.shows(&format!("peak PCIe bandwidth to the device 63.0 GB/s {method}"));
    ended.shows("h2d link: 1 result, compared with the peak bandwidth of the link, not of DRAM");
    // In the table, and where the row is explained.
    let of_peak = shares(&run, &up)[0].map(|share| format!("{:.1}", 100.0 * share)).expect("it is there");
    ended.shows(&format!("of peak   {of_peak} % of PCIe bandwidth to the device 63.0 GB/s {method}"));
    let row = ended.stdout.lines().find(|line| line.contains("  up[")).unwrap_or_else(|| panic!("{ended}"));
    assert!(row.contains(&format!("{of_peak}  PCIe")), "{row}");
}

/// As of the memory: the overhead is in its favour, and a step of the clock.
#[test]
fn bytes_that_cannot_have_crossed_a_link_are_impossible() {
    let quick = ["--quick", "claims_up", "claims_peer", "--color", "never"];
    let links = [("PCIE", "5x16"), ("NVLINKS", "18")];
    let measured = measure(LASTING, &quick, &links);
    let both = [
        "claims_up[ns=8300] hot",
        "claims_up[ns=8600] hot",
        "claims_peer[ns=8300] hot",
        "claims_peer[ns=8600] hot",
    ];
    assert_eq!(impossible(&measured.run), both);
    let ended = measured.ended.with_code(1);
    ended.shows("take 10.00 µs at the PCIe peak of 63.0 GB/s, but the launch took 8.3");
    ended.shows("take 10.00 µs at the P2P peak of 450 GB/s, but the launch took ");
    ended.shows("peak P2P bandwidth 450 GB/s (from attributes: NVLink 4: 18 links × 25 GB/s)");
    // What a hypervisor tells is no limit, though it is a peak; a shared GPU has none.
    let through = measure(LASTING, &quick, &[&links[..], &[("VIRTUAL", "1")]].concat());
    assert_eq!(impossible(&through.run), [""; 0]);
    assert!(shares(&through.run, &Quantity::HostToDevice)[0].is_some());
    through
        .ended
        .with_code(0)
        .shows("peak PCIe bandwidth to the device about 63.0 GB/s (from attributes: PCIe 5.0");
    let shared = measure(LASTING, &quick, &[&links[..], &[("VIRTUAL", "2")]].concat());
    assert_eq!(shares(&shared.run, &Quantity::HostToDevice), [None; 4]);
}

/// Without the library, and where it does not tell: no share, no verdict. What the user says counts as ever.
#[test]
fn a_link_that_nobody_knows_judges_nothing() {
    for asked in [&[][..], &[("CLOCKS", "1980")][..]] {
        let measured = measure(LASTING, &["--quick", "claims_up", "--color", "never"], asked);
        assert_eq!(shares(&measured.run, &Quantity::HostToDevice), [None; 2]);
        assert!(measured.run.records.iter().all(|record| record.verdict.state == State::Valid));
        measured.ended.with_code(0).shows("h2d link: 2 results, whose peak is not known");
    }
    let given = {
        let peak = SettingsFile::peak("cuda:0", "h2d=55GB/s");
        measure(LASTING, &["--quick", "claims_up"], &[("PCIE", "5x16"), peak.variable()])
    };
    let [Reason::ImpossibleSpeed(speed)] = &given.run.records[1].verdict.reasons[..] else {
        panic!("{}", given.ended)
    };
    assert_eq!((&speed.quantity, speed.work, speed.peak.0), (&Quantity::HostToDevice, 630_154, 55e9));
}
