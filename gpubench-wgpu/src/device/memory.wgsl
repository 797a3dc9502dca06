// Kernels over memory: each workgroup moves 16 KiB, each invocation four times 16 bytes, next to its neighbour's.

@group(0) @binding(0) var<storage, read_write> y: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> x: array<vec4<u32>>;

const WIDTH = 256u;
const TIMES = 4u;

fn first(group: vec3<u32>, groups: vec3<u32>, lane: u32) -> u32 {
    return (group.y * groups.x + group.x) * WIDTH * TIMES + lane;
}

@compute @workgroup_size(WIDTH)
fn read_all(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
    let begin = first(group, groups, lane);
    var sum = vec4<u32>();
    for (var k = 0u; k < TIMES; k++) {
        let i = begin + k * WIDTH;
        if (i < arrayLength(&x)) {
            sum += x[i];
        }
    }
    // Never true of memory that `fill_all` filled; the compiler does not know.
    if (all(sum == vec4<u32>(1u, 2u, 3u, 5u))) {
        y[0] = sum;
    }
}

@compute @workgroup_size(WIDTH)
fn fill_all(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
    let begin = first(group, groups, lane);
    for (var k = 0u; k < TIMES; k++) {
        let i = begin + k * WIDTH;
        if (i < arrayLength(&y)) {
            y[i] = vec4<u32>(i * 2654435761u) + vec4<u32>(0u, 4u, 8u, 12u);
        }
    }
}

@compute @workgroup_size(WIDTH)
fn copy_all(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
    let begin = first(group, groups, lane);
    for (var k = 0u; k < TIMES; k++) {
        let i = begin + k * WIDTH;
        if (i < arrayLength(&x)) {
            y[i] = x[i];
        }
    }
}
