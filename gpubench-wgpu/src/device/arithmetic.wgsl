// Chains of fused multiply-adds that depend on nothing but themselves. `T` is the precision.

@group(0) @binding(0) var<storage, read_write> y: array<u32>;

override STEPS: u32 = 256u;

@compute @workgroup_size(256)
fn multiply_add(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let start = vec4<T>(T(lane), T(group.x), T(1), T(2)) * T(0.001);
    let a = vec4<T>(T(0.5)) + start * T(0.001);
    let b = vec4<T>(T(0.25));
    var c0 = start;
    var c1 = start + b;
    var c2 = start - b;
    var c3 = start + a;
    for (var k = 0u; k < STEPS; k++) {
        c0 = fma(c0, a, b);
        c1 = fma(c1, a, b);
        c2 = fma(c2, a, b);
        c3 = fma(c3, a, b);
    }
    let sum = c0 + c1 + c2 + c3;
    // Never true; the compiler does not know.
    if (sum.x + sum.y + sum.z + sum.w == T(-123.0)) {
        y[0] = 1u;
    }
}
