#!/usr/bin/env python3
"""Races of `examples/tuning` in many processes, against exhaustive timing, a single look at each variant, and Kernel Tuner.

    cargo build --example tuning && examples/tuning/compile target/debug/examples/tuning target/tuning
    peers/tuner.py target/debug/examples/tuning 'tuning::sum[n=268435456' --races 20 --kernel-tuner 3 --json tuner.json
    peers/tuner.py --count tuner.json                                                  # what a call kept that was ended

In: the program, a filter that leaves one problem, and how often each is done. Out: for each way the variants that it names, by how much
they are slower than the best by exhaustive timing, and how long it took. The truth is the mean of the medians of `--truth` processes that
time each variant to ± 0.1 %, a second at most; those near the best are timed in `--again` more, since where a process's inputs lie
moves a time by up to 1 %. Kernel Tuner (`pip install kernel_tuner`, with cupy) knows the sum alone, and flushes no
cache: it is of use where the array is larger than any.
"""

import argparse
import collections
import copy
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUM = ROOT / "examples/tuning/sum.cu"
REDUCTION = ROOT / "gpubench-kernels/cuda/reduction.cu"
EMPTY = {"exhaustive": [], "again": [], "races": [], "kernel_tuner": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", help="examples/tuning, built")
    parser.add_argument("filter", nargs="?", help="of one problem, such as 'tuning::sum[n=268435456'")
    parser.add_argument("--races", type=int, default=20, help="processes that race (default 20)")
    parser.add_argument("--truth", type=int, default=3, help="processes that time each variant (default 3)")
    parser.add_argument("--again", type=int, default=8, help="processes that time what is within 3 %% of the best (default 8)")
    parser.add_argument("--kernel-tuner", type=int, default=0, metavar="N", help="so often by Kernel Tuner (default 0)")
    parser.add_argument("--json", help="where to keep what was found")
    parser.add_argument("--count", metavar="FILE", help="count what a file written by --json holds; time nothing")
    wanted = parser.parse_args()
    if wanted.count and wanted.program:
        parser.error("--count times nothing: leave out the program and the filter")
    if wanted.count:
        return tell(EMPTY | json.loads(Path(wanted.count).read_bytes()))
    if not wanted.filter:
        parser.error("name a program and a filter, or a file to --count")

    found = copy.deepcopy(EMPTY) | {"filter": wanted.filter}
    for step, measure, times in [
        ("exhaustive", lambda wanted: timed([wanted.program, wanted.filter]), wanted.truth),
        ("again", lambda wanted: timed([wanted.program, "--exact", *near(found)]), wanted.again),
        ("races", raced, wanted.races),
        ("kernel_tuner", by_kernel_tuner, wanted.kernel_tuner),
    ]:
        for _ in range(times):
            found[step].append(measure(wanted))
            keep(found, wanted.json)
    tell(found)


def keep(found, path):
    if path:
        # A limit may end this program at any time.
        new = Path(f"{path}.new")
        new.write_text(json.dumps(found, separators=(",", ":")) + "\n")
        new.replace(path)


def named(args):
    return ", ".join(f"{arg['name']}={arg['value']}" for arg in args if arg["name"] != "n")


def timed(rows):
    """The time of each of these variants, measured alone, and the seconds that all took."""
    timing = ["--precision", "0.1%", "--max-time", "1", "--json"]
    document, seconds = run([*rows, "--cache", "cold", *timing])
    measured = [record for record in document["records"] if record["measurement"]]
    times = {named(record["args"]): record["measurement"]["time"]["median"] for record in measured}
    rows = {named(record["args"]): row(record) for record in measured}
    return {"times_ns": times, "rows": rows, "seconds": seconds}


def row(record):
    """The name of a record's case, as `--exact` takes it."""
    args = ", ".join(f"{arg['name']}={arg['value']}" for arg in record["args"])
    return f"{record['benchmark']}[{args}]"


def truth(found):
    """The mean time of each variant over all processes that timed it."""
    times = collections.defaultdict(list)
    for one in found["exhaustive"] + found["again"]:
        for name, time_ns in one["times_ns"].items():
            times[name].append(time_ns)
    return {name: statistics.mean(several) for name, several in times.items()}


def near(found):
    """The rows of the variants within 3 % of the best so far."""
    times = truth({"exhaustive": found["exhaustive"], "again": []})
    rows = found["exhaustive"][0]["rows"]
    return [rows[name] for name, time_ns in times.items() if time_ns <= 1.03 * min(times.values())]


def raced(wanted):
    """What a race names, and the variant whose single time was the least."""
    document, seconds = run([wanted.program, wanted.filter, "--cache", "cold", "--tune", "--save-tuning"])
    [benchmark] = document["benchmarks"]
    [problem] = benchmark["problems"]
    standings = collections.defaultdict(list)
    for variant in problem["variants"]:
        standings[variant["standing"]].append(named(variant["args"]))
    fastest = min((one for one in problem["variants"] if one["coarse_time"]), key=lambda one: one["coarse_time"])
    return {
        "best": standings["best"][0],
        "ties": standings["tie"],
        "undecided": standings["undecided"],
        "fastest_alone": named(fastest["args"]),
        "seconds": seconds,
    }


def by_kernel_tuner(wanted):
    """The variant that Kernel Tuner finds by brute force, and the seconds that it took."""
    import cupy
    import cupyx
    import numpy
    from kernel_tuner import tune_kernel

    # Kernel Tuner 1.3.0 looks for it under a name that cupy no longer has.
    cupy._cupyx = cupyx
    n = int(wanted.filter.split("n=")[1].split(",")[0].rstrip("]"))
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    source = SUM.read_text().replace('#include "../../gpubench-kernels/cuda/reduction.cu"', REDUCTION.read_text())
    slots = numpy.full(multiprocessors * 16, 0x7FF4000000000000, numpy.uint64)
    x, total = numpy.random.default_rng(1).random(n, numpy.float32), numpy.zeros(1)
    begin = time.monotonic()
    results, _ = tune_kernel(
        "variant",
        source,
        f"{multiprocessors}*PER_SM",
        [x, numpy.uint64(n), slots, total],
        {"THREADS": [128, 256, 512, 1024], "BATCH": [1, 2, 4, 8, 16], "PER_SM": [1, 2, 4, 8]},
        grid_div_x=[],
        restrictions=["THREADS*PER_SM <= 2048"],
        block_size_names=["THREADS"],
        lang="cupy",
        compiler_options=["--std=c++17"],
        quiet=True,
    )
    seconds = time.monotonic() - begin
    timed = [result for result in results if isinstance(result["time"], float)]
    best = min(timed, key=lambda result: result["time"])
    name = f"threads={best['THREADS']}, batch={best['BATCH']}, per_sm={best['PER_SM']}"
    return {"best": name, "seconds": seconds, "variants": len(timed)}


def run(command):
    """The JSON document that a program writes into the file behind its last flag, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept.json"
        begin = time.monotonic()
        done = subprocess.run([*command, kept], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seconds = time.monotonic() - begin
        if done.returncode not in (0, 1) or not kept.exists():
            sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(kept.read_bytes()), seconds


def tell(found):
    exhaustive, again, races = found["exhaustive"], found["again"], found["races"]
    if not exhaustive:
        return print(f"{found['filter']}: nothing was timed")
    times = truth(found)
    best = min(times, key=times.get)

    def loss(name):
        return 100 * (times[name] / times[best] - 1)

    ties = sorted((name for name in times if loss(name) <= 0.5), key=times.get)
    print(f"{found['filter']}: {len(times)} variants, each timed alone to ± 0.1 %, or for a second, in {statistics.median(one['seconds'] for one in exhaustive):.1f} s")
    if again:
        print(f"  {len(again[0]['times_ns'])} of them in {len(again)} processes more")
    print(f"  best: {best}, {times[best] / 1e3:.2f} µs; within 0.5 %: {'; '.join(ties[1:]) or 'none'}")
    if not races:
        return print("no race was kept")
    winners = collections.Counter(race["best"] for race in races)
    first = winners.most_common(1)[0][0]
    holding = sum(first == race["best"] or first in race["ties"] for race in races)
    print(f"--tune, {len(races)} processes, {statistics.median(race['seconds'] for race in races):.1f} s each")
    for name, count in winners.most_common():
        print(f"  {count:3} name {name}: {loss(name):+.2f} %")
    print(f"  the first is the best or a tie in {holding} of {len(races)}; undecided: "
          f"{statistics.mean(len(race['undecided']) for race in races):.1f} variants on average")
    several("each timed once, the smallest taken", [race["fastest_alone"] for race in races], loss)
    if found["kernel_tuner"]:
        seconds = statistics.median(one["seconds"] for one in found["kernel_tuner"])
        several(f"Kernel Tuner, brute force, {seconds:.0f} s each with its compiling",
                [one["best"] for one in found["kernel_tuner"]], loss)


def several(title, names, loss):
    print(f"{title}: {len(names)} times")
    for name, count in collections.Counter(names).most_common():
        print(f"  {count:3} name {name}: {loss(name):+.2f} %")


if __name__ == "__main__":
    main()
