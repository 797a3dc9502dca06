"""NVBench on the suite's kernels, through its Python package `cuda-bench`. Run as a program, in a process of its own.

In: launches, and NVBench's own options behind `--`; out: NVBench's JSON.
Imported: what such a process found, for each kernel.
"""

import json
import sys


def read(path):
    """The median, its spread and the number of cold samples of each `NAME_N`, and what NVBench says all of it took."""
    found, walls = {}, 0.0
    for benchmark in json.load(open(path))["benchmarks"]:
        for state in benchmark["states"] or []:
            values = {}
            for summary in state["summaries"] or []:
                value = next((d["value"] for d in summary["data"] or [] if d["name"] == "value"), None)
                if value is not None:
                    values[summary["tag"]] = float(value)
            walls += sum(values.get(f"nv/{kind}/walltime", 0.0) for kind in ("cold", "batch"))
            if "nv/cold/time/gpu/median" in values:
                found[benchmark["name"]] = {
                    "us": 1e6 * values["nv/cold/time/gpu/median"],
                    "iqr_us": 1e6 * values.get("nv/cold/time/gpu/iqr/absolute", 0.0),
                    "samples": int(values["nv/cold/sample_size"]),
                }
    return found, walls


def main():
    import cuda.bench as bench
    import cupy

    from kernels import Launch

    def register(written):
        def benchmark(state):
            launch = Launch(written)

            def launcher(given):
                with cupy.cuda.ExternalStream(given.get_stream().addressof()):
                    launch()

            state.exec(launcher)

        benchmark.__name__ = "_".join(written.split(":")[:2])
        bench.register(benchmark)

    split = sys.argv.index("--")
    for written in sys.argv[1:split]:
        register(written)
    bench.run_all_benchmarks([sys.argv[0], *sys.argv[split + 1:]])


if __name__ == "__main__":
    main()
