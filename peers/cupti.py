"""CUPTI's activity records of the suite's kernels, through PyTorch's profiler. Run as a program, in a process of its own.

In: launches; out: a line of JSON with the median duration of each, in µs, and the number of
launches. Before each of them the L2 is written and its lines discarded, as the suite does by default.
"""

import json
import statistics
import sys
import tempfile
import time

LAUNCHES = 33


def main():
    import cupy
    import torch
    from torch.profiler import ProfilerActivity, profile

    from kernels import ROOT, Launch, module

    l2 = cupy.cuda.Device().attributes["L2CacheSize"] // 128 * 128
    buffer = cupy.zeros(l2, cupy.uint8)
    discard = module(ROOT / "gpubench-runtime/src/devices/cuda/kernels/discard.ptx").get_function("gpubench_discard")
    blocks = 8 * cupy.cuda.Device().attributes["MultiProcessorCount"]

    def flush():
        buffer.data.memset_async(0, l2, cupy.cuda.get_current_stream())
        discard((blocks,), (256,), (buffer, cupy.uint64(l2 // 128)))

    torch.cuda.init()
    cases = []
    begin = time.monotonic()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for written in sys.argv[1:]:
            launch = Launch(written)
            cases.append((launch.name, launch.case))
            for _ in range(LAUNCHES + 1):
                flush()
                launch()
            cupy.cuda.Device().synchronize()
            del launch
            cupy.get_default_memory_pool().free_all_blocks()
    seconds = time.monotonic() - begin
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        profiled.export_chrome_trace(out.name)
        events = json.load(open(out.name))["traceEvents"]
    names = {name for name, _ in cases}
    kernels = sorted((event for event in events if event.get("cat") == "kernel" and event["name"] in names),
                     key=lambda event: event["ts"])
    if len(kernels) != (LAUNCHES + 1) * len(cases):
        sys.exit(f"{len(kernels)} launches were recorded of {len(cases)} kernels")
    found = {}
    for number, (name, case) in enumerate(cases):
        piece = kernels[number * (LAUNCHES + 1):(number + 1) * (LAUNCHES + 1)][1:]
        if any(event["name"] != name for event in piece):
            sys.exit(f"the launches of {name} are not where they are expected")
        found[case] = {"us": statistics.median(event["dur"] for event in piece), "samples": LAUNCHES}
    print(json.dumps({"rows": found, "measuring_s": seconds}))


if __name__ == "__main__":
    main()
