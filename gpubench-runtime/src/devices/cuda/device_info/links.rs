//! The limits of a GPU's links, each one way: PCIe to the host, NVLink to other GPUs. In: the generations, lanes and
//! links that NVIDIA's management library reports; out: peaks, none for a kind of link that is not in the tables.
//!
//! For PCIe the peak is the transfer rate less the encoding, as the specifications of its generations have it: 8b/10b,
//! from 3.0 on 128b/130b, and in 6.0 flits of 256 bytes of which 236 are packets. Packet headers are not subtracted, so
//! a copy reaches about nine tenths. For NVLink the peak is NVIDIA's figure for each generation, also less the
//! encoding.

use gpubench_driver::nvml::NvmlDevice;
use gpubench_records::device_info::{Peak, PeakSource, Quantity};
use gpubench_stats::units::Rate;

/// A generation of PCIe: 10⁹ transfers a second and lane, and the payload bits among the transferred bits.
struct Pcie {
    generation: u32,
    gigatransfers: f64,
    encoding: (f64, f64),
}

const fn pcie(generation: u32, gigatransfers: f64, encoding: (f64, f64)) -> Pcie {
    Pcie { generation, gigatransfers, encoding }
}

const PCIE: [Pcie; 6] = [
    pcie(1, 2.5, (8.0, 10.0)),
    pcie(2, 5.0, (8.0, 10.0)),
    pcie(3, 8.0, (128.0, 130.0)),
    pcie(4, 16.0, (128.0, 130.0)),
    pcie(5, 32.0, (128.0, 130.0)),
    pcie(6, 64.0, (236.0, 256.0)),
];

/// The NVLink versions, as the library numbers them: the generation in NVIDIA's words, and GB/s one way (from its white
/// papers on the P100, V100, A100, H100 and Blackwell).
const NVLINK: [(u32, &str, f64); 7] = [
    (1, "NVLink 1", 20.0),
    (2, "NVLink 2", 25.0),
    (3, "NVLink 2", 25.0),
    (4, "NVLink 3", 25.0),
    (5, "NVLink 3", 25.0),
    (6, "NVLink 4", 25.0),
    (7, "NVLink 5", 50.0),
];
const MOST_NVLINKS: u32 = 18;

/// `NVML_GPU_VIRTUALIZATION_MODE_NONE` and `…_VGPU`.
const BARE_METAL: u32 = 0;
const VIRTUAL_GPU: u32 = 2;

/// Returns the peaks of this GPU's links; PCIe only if that is the way to the host. A part of a GPU and a virtual GPU
/// have none. Under a hypervisor, which may report another link than the real one, no peak is certain.
pub(crate) fn peaks(device: NvmlDevice, pcie: bool) -> Vec<Peak> {
    let mode = device.virtualization().ok();
    if device.mig().unwrap_or(false) || mode == Some(VIRTUAL_GPU) {
        return Vec::new();
    }
    let uncertain = mode != Some(BARE_METAL);
    let to_host = Some(device).filter(|_| pcie).and_then(host_link);
    let both = to_host.into_iter().flat_map(|limit| {
        [Quantity::HostToDevice, Quantity::DeviceToHost].map(|quantity| (quantity, limit.clone()))
    });
    let to_peers = peer_links(device).map(|limit| (Quantity::PeerToPeer, limit));
    let peak = |(quantity, LinkLimit { value, method })| {
        let peak = Peak::new(quantity, Rate(value), PeakSource::Attribute, method);
        if uncertain { peak.uncertain() } else { peak }
    };
    both.chain(to_peers).map(peak).collect()
}

/// A limit one way, in bytes a second, and its derivation in words.
#[derive(Clone, Debug, PartialEq)]
struct LinkLimit {
    value: f64,
    method: String,
}

/// Returns the limit of PCIe, for the fastest generation that GPU and system share, since an idle link drops to a
/// slower one.
fn host_link(device: NvmlDevice) -> Option<LinkLimit> {
    let (generation, lanes) = (device.pcie_generation().ok()?, device.pcie_lanes().ok()?);
    pcie_limit(generation, lanes, device.pcie_lanes_now().ok())
}

fn pcie_limit(generation: u32, lanes: u32, present: Option<u32>) -> Option<LinkLimit> {
    let Pcie { gigatransfers, encoding: (counts, all), .. } =
        PCIE.iter().find(|pcie| pcie.generation == generation)?;
    let value = f64::from(lanes) * gigatransfers * 1e9 * counts / all / 8.0;
    let fewer = present.filter(|present| *present < lanes);
    let fewer = fewer.map(|present| format!("; {present} lanes at present")).unwrap_or_default();
    let method =
        format!("PCIe {generation}.0: {lanes} lanes × {gigatransfers} GT/s × {counts}/{all} / 8{fewer}");
    (lanes > 0).then_some(LinkLimit { value, method })
}

/// Returns the limit of all NVLinks together. They may lead to a switch, and through it to any other GPU. They may also
/// lead to several GPUs, some links to each: then no two GPUs have the whole limit between them.
fn peer_links(device: NvmlDevice) -> Option<LinkLimit> {
    let active = (0..MOST_NVLINKS).filter(|link| device.is_nvlink_active(*link).unwrap_or(false));
    nvlink_limit(&active.map(|link| device.nvlink_version(link).ok()).collect::<Option<Vec<_>>>()?)
}

/// Returns the limit of NVLinks of these versions.
fn nvlink_limit(versions: &[u32]) -> Option<LinkLimit> {
    let (first, others) = versions.split_first()?;
    let (_, name, gigabytes) = NVLINK.iter().find(|(version, ..)| version == first)?;
    let (count, value) = (versions.len(), versions.len() as f64 * gigabytes * 1e9);
    let method = format!("{name}: {count} links × {gigabytes} GB/s");
    others.iter().all(|other| other == first).then_some(LinkLimit { value, method })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with tables of PCIe in GB/s, to three digits.
    #[test]
    fn generations_and_lanes_give_what_is_known_of_them() {
        for (generation, lanes, gigabytes) in [
            (1, 16, 4.0),
            (2, 16, 8.0),
            (3, 1, 0.985),
            (3, 16, 15.754),
            (4, 8, 15.754),
            (4, 16, 31.508),
            (5, 16, 63.015),
            (6, 16, 118.0),
        ] {
            let limit = pcie_limit(generation, lanes, Some(lanes)).expect("it is in the table");
            assert!(
                (limit.value / 1e9 - gigabytes).abs() < 0.0005,
                "PCIe {generation}.0 × {lanes}: {limit:?}"
            );
        }
        assert_eq!([pcie_limit(9, 16, None), pcie_limit(5, 0, None)], [None, None]);
        let fewer = pcie_limit(5, 16, Some(8)).expect("it is in the table");
        assert_eq!(fewer.method, "PCIe 5.0: 16 lanes × 32 GT/s × 128/130 / 8; 8 lanes at present");
        assert_eq!(Some(fewer.value), pcie_limit(5, 16, None).map(|limit| limit.value));
    }

    #[test]
    fn links_of_one_version_add_up() {
        let limit = nvlink_limit(&[6; 18]).expect("it is in the table");
        assert_eq!((limit.value, &*limit.method), (450e9, "NVLink 4: 18 links × 25 GB/s"));
        assert_eq!(nvlink_limit(&[4; 12]).map(|limit| limit.value), Some(300e9));
        assert_eq!([nvlink_limit(&[]), nvlink_limit(&[99]), nvlink_limit(&[6, 7])], [None, None, None]);
    }
}
