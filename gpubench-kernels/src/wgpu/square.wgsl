// Kernels over squares of n x n numbers, row by row: transposes with workgroups of 32 x 8, and products with 16 x 16.

@group(0) @binding(0) var<storage, read_write> c: array<f32>;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;

override N: u32;

const TILE = 32u;
const ROWS = 8u;
const SIDE = 16u;
// A column more, so that a column of a tile lies in different banks.
var<workgroup> tile: array<array<f32, 33>, 32>;
var<workgroup> of_a: array<array<f32, SIDE>, SIDE>;
var<workgroup> of_b: array<array<f32, SIDE>, SIDE>;

// The first column and row of the workgroup's tile.
fn corner(group: vec3<u32>, groups: vec3<u32>, side: u32) -> vec2<u32> {
    let number = group.y * groups.x + group.x;
    let across = (N + side - 1u) / side;
    return vec2<u32>(number % across, number / across) * side;
}

@compute @workgroup_size(TILE, ROWS)
fn transpose_naive(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_id) at: vec3<u32>) {
    let first = corner(group, groups, TILE);
    let column = first.x + at.x;
    for (var k = at.y; k < TILE; k += ROWS) {
        let row = first.y + k;
        if (row < N && column < N) { c[column * N + row] = a[row * N + column]; }
    }
}

@compute @workgroup_size(TILE, ROWS)
fn transpose_tiled(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_id) at: vec3<u32>) {
    let first = corner(group, groups, TILE);
    for (var k = at.y; k < TILE; k += ROWS) {
        let row = first.y + k;
        let column = first.x + at.x;
        if (row < N && column < N) { tile[k][at.x] = a[row * N + column]; }
    }
    workgroupBarrier();
    for (var k = at.y; k < TILE; k += ROWS) {
        let row = first.x + k;
        let column = first.y + at.x;
        if (row < N && column < N) { c[row * N + column] = tile[at.x][k]; }
    }
}

@compute @workgroup_size(SIDE, SIDE)
fn naive(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
         @builtin(local_invocation_id) at: vec3<u32>) {
    let place = corner(group, groups, SIDE) + at.xy;
    if (place.x >= N || place.y >= N) { return; }
    var sum = 0.0;
    for (var k = 0u; k < N; k++) { sum = fma(a[place.y * N + k], b[k * N + place.x], sum); }
    c[place.y * N + place.x] = sum;
}

@compute @workgroup_size(SIDE, SIDE)
fn tiled(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
         @builtin(local_invocation_id) at: vec3<u32>) {
    let place = corner(group, groups, SIDE) + at.xy;
    let inside = place.x < N && place.y < N;
    var sum = 0.0;
    for (var first = 0u; first < N; first += SIDE) {
        let column = first + at.x;
        let row = first + at.y;
        of_a[at.y][at.x] = select(0.0, a[min(place.y, N - 1u) * N + min(column, N - 1u)], column < N);
        of_b[at.y][at.x] = select(0.0, b[min(row, N - 1u) * N + min(place.x, N - 1u)], row < N);
        workgroupBarrier();
        for (var k = 0u; k < SIDE; k++) { sum = fma(of_a[at.y][k], of_b[k][at.x], sum); }
        workgroupBarrier();
    }
    if (inside) { c[place.y * N + place.x] = sum; }
}
