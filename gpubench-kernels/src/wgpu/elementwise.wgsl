// Kernels that move arrays: one invocation for 16 bytes, and sums in two steps.

@group(0) @binding(0) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> total: array<f32>;

override A: f32 = 0.0;

const WIDTH = 256u;
var<workgroup> sums: array<f32, WIDTH>;

fn place(group: vec3<u32>, groups: vec3<u32>, lane: u32) -> u32 {
    return (group.y * groups.x + group.x) * WIDTH + lane;
}

@compute @workgroup_size(WIDTH)
fn copy(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
    let i = place(group, groups, lane);
    if (i < arrayLength(&y)) { y[i] = x[i]; }
}

@compute @workgroup_size(WIDTH)
fn fill(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
    let i = place(group, groups, lane);
    if (i < arrayLength(&y)) { y[i] = vec4<f32>(A); }
}

@compute @workgroup_size(WIDTH)
fn saxpy(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
         @builtin(local_invocation_index) lane: u32) {
    let i = place(group, groups, lane);
    if (i < arrayLength(&y)) { y[i] = fma(vec4<f32>(A), x[i], y[i]); }
}

// The workgroup's sum of one value an invocation.
fn sum_of_group(value: f32, lane: u32) -> f32 {
    sums[lane] = value;
    for (var step = WIDTH / 2u; step > 0u; step /= 2u) {
        workgroupBarrier();
        if (lane < step) { sums[lane] += sums[lane + step]; }
    }
    return sums[0];
}

// y.x of each workgroup <- its sum of x, in strides of all of them.
@compute @workgroup_size(WIDTH)
fn sum_parts(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
             @builtin(local_invocation_index) lane: u32) {
    var mine = vec4<f32>();
    for (var i = place(group, groups, lane); i < arrayLength(&x); i += groups.x * WIDTH) { mine += x[i]; }
    let sum = sum_of_group(mine.x + mine.y + mine.z + mine.w, lane);
    if (lane == 0u) { y[group.x] = vec4<f32>(sum, 0.0, 0.0, 0.0); }
}

// total <- the sum of the parts, by one workgroup.
@compute @workgroup_size(WIDTH)
fn sum_total(@builtin(local_invocation_index) lane: u32) {
    var mine = 0.0;
    for (var i = lane; i < arrayLength(&y); i += WIDTH) { mine += y[i].x; }
    let sum = sum_of_group(mine, lane);
    if (lane == 0u) { total[0] = sum; }
}
