//! The few functions of NVIDIA's management library that tell of a GPU's links, and of what lies between it and who asks.

use std::ffi::{c_char, c_int, c_uint};

use super::nvml::{CONFIG, Code, NOT_SUPPORTED, told};
use crate::call::Out;

/// `NVML_NVLINK_VERSION_4_0`.
const NVLINK_4: c_uint = 6;

/// Exports functions that set one result, where there is one.
macro_rules! may_tell {
    ($(fn $name:ident($($argument:ident: $type:ty),* ; $result:ty) { $value:expr })*) => {
        $(
            // SAFETY: no other object of a program under test defines this name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type,)* result: Out<$result>) -> Code {
                let value: Option<$result> = $value;
                value.map_or(NOT_SUPPORTED, |value| told(result.set(value)))
            }
        )*
    };
}

may_tell! {
    fn nvmlDeviceGetMaxPcieLinkGeneration(_device: usize; c_uint) { CONFIG.pcie.map(|(generation, _)| generation) }
    fn nvmlDeviceGetMaxPcieLinkWidth(_device: usize; c_uint) { CONFIG.pcie.map(|(_, lanes)| lanes) }
    fn nvmlDeviceGetCurrPcieLinkWidth(_device: usize; c_uint) { CONFIG.pcie.map(|(_, lanes)| lanes) }
    fn nvmlDeviceGetVirtualizationMode(_device: usize; c_uint) { Some(CONFIG.virtualised) }
    fn nvmlDeviceGetNvLinkState(_device: usize, link: c_uint; c_int) { Some(c_int::from(link < CONFIG.nvlinks)) }
    fn nvmlDeviceGetNvLinkVersion(_device: usize, link: c_uint; c_uint) { (link < CONFIG.nvlinks).then_some(NVLINK_4) }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(version: Out<c_char>, length: c_uint) -> Code {
    told(version.text(&CONFIG.release, length as usize))
}
