//! What the driver says of a pipeline's machine code.

use std::ffi::CStr;
use std::path::Path;

use ash::{khr, vk};
use wgpu_peer::Failure;

use crate::vulkan::{Pipeline, Vulkan};

/// Returns a line for each statistic, and writes representations to files whose names begin with `name`.
pub fn describe(
    vulkan: &Vulkan,
    pipeline: &Pipeline,
    folder: &Path,
    name: &str,
) -> Result<Vec<String>, Failure> {
    if !vulkan.told {
        return Ok(vec!["no VK_KHR_pipeline_executable_properties".to_owned()]);
    }
    let functions = khr::pipeline_executable_properties::Device::new(&vulkan.instance, &vulkan.device);
    let of_pipeline = vk::PipelineInfoKHR::default().pipeline(pipeline.pipeline);
    // SAFETY: the pipeline lives, and was made with the flags that these ask for.
    let executables = unsafe { functions.get_pipeline_executable_properties(&of_pipeline) }?;
    let mut lines = Vec::new();
    for (at, executable) in (0..).zip(&executables) {
        let size = executable.subgroup_size;
        lines.push(format!("{}, subgroups of {size}", text(executable.name_as_c_str())));
        let information =
            vk::PipelineExecutableInfoKHR::default().pipeline(pipeline.pipeline).executable_index(at);
        // SAFETY: as above.
        let statistics = unsafe { functions.get_pipeline_executable_statistics(&information) }?;
        for statistic in &statistics {
            // SAFETY: the format names the union's part.
            let value = unsafe {
                match statistic.format {
                    vk::PipelineExecutableStatisticFormatKHR::BOOL32 => {
                        (statistic.value.b32 != 0).to_string()
                    }
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => statistic.value.i64.to_string(),
                    vk::PipelineExecutableStatisticFormatKHR::FLOAT64 => statistic.value.f64.to_string(),
                    _ => statistic.value.u64.to_string(),
                }
            };
            lines.push(format!("  {}: {value}", text(statistic.name_as_c_str())));
        }
        // SAFETY: as above.
        let sized = unsafe { functions.get_pipeline_executable_internal_representations(&information) }?;
        let mut data: Vec<Vec<u8>> = sized.iter().map(|of| vec![0; of.data_size]).collect();
        let mut filled = sized;
        for (representation, data) in filled.iter_mut().zip(&mut data) {
            representation.p_data = data.as_mut_ptr().cast();
        }
        let mut count = filled.len() as u32;
        // SAFETY: each has room for what the first call said.
        let result = unsafe {
            (functions.fp().get_pipeline_executable_internal_representations_khr)(
                vulkan.device.handle(),
                &information,
                &mut count,
                filled.as_mut_ptr(),
            )
        };
        result.result()?;
        for (representation, data) in filled.iter().zip(&data) {
            let of = text(representation.name_as_c_str());
            let file = format!("{name}-{at}-{of}").replace([' ', '/'], "-");
            std::fs::write(folder.join(&file), data)?;
            lines.push(format!("  {of}: {} bytes in {file}", data.len()));
        }
    }
    Ok(lines)
}

fn text(name: Result<&CStr, std::ffi::FromBytesUntilNulError>) -> String {
    name.map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into_owned())
}
