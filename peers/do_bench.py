"""Triton's `do_bench` on the suite's kernels, with its own defaults. Run as a program, in a process of its own.

In: launches; out: a line of JSON with the median of each, in µs, the number of samples, and the
seconds that `do_bench` took.
"""

import json
import statistics
import sys
import time


def main():
    import cupy
    import torch
    from triton.testing import do_bench

    from kernels import Launch

    found, seconds = {}, 0.0
    # It takes its number of samples from five launches, the first of which in a process are slow.
    do_bench(Launch("fill:262144:256:256"))
    for written in sys.argv[1:]:
        launch = Launch(written)

        def on_its_stream():
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                launch()

        begin = time.monotonic()
        times = do_bench(on_its_stream, return_mode="all")
        seconds += time.monotonic() - begin
        found[launch.case] = {"us": 1e3 * statistics.median(times), "samples": len(times)}
        del launch
        cupy.get_default_memory_pool().free_all_blocks()
    print(json.dumps({"rows": found, "measuring_s": seconds}))


if __name__ == "__main__":
    main()
