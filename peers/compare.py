#!/usr/bin/env python3
"""Times the suite's CUDA kernels cold by several tools, and holds each against CUPTI's trace.

In: the suite's executable, and names of its rows (the grid of `sum`, `copy`, `fill` and `rmw` from 64 KiB to 1 GiB if none is
named). Out: a table of times, errors and samples by each tool, what each took, and where a peer is nearer than the suite.

    cargo build --example suite
    pip install 'cuda-bench[cu13]' cupy-cuda13x torch
    peers/compare.py target/debug/examples/suite --json peers.json
    peers/compare.py --from peers.json

- CUPTI: activity records of a stream's launches, traced by PyTorch's profiler, behind the suite's usual flush: the GPU's own begin and
  end of a kernel, and the yardstick.
- ncu: Nsight Compute's `gpu__time_duration`, `--cache-control all --clock-control none`, the mean of three launches in each of four
  processes: another clock, which starts earlier.
- suite: this repository's, as it comes; its options follow `--`. "write": the same with `--flush write`, which is how most
  tools flush.
- NVBench: its package `cuda-bench` as it comes (some five seconds a row; `--eight` leaves it eight rows of the grid); and "few
  samples": `--no-batch`, and as many samples as bring its median to the suite's confidence interval.
- do_bench: Triton's, with its defaults.

All launch the same PTX with the same grids on arrays of the same sizes, in a process each; where a process's arrays lie is its
own. Whatever is not installed is said and left out. `--peers ncu` asks for some alone. What events read behind `--flush write`,
before the suite takes its overhead off, stands below beside what NVBench reads.
"""

import argparse
import importlib.metadata
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))
sys.path.insert(0, str(HERE))

import ncu  # noqa: E402
import nvbench  # noqa: E402
import table  # noqa: E402
from kernels import EMPTY, EMPTY_CASE, KERNELS  # noqa: E402
from suites import run, shown, split_options  # noqa: E402

PEERS = ["ncu", "write", "nvbench", "do_bench", "cupti"]
ARRAYS = [64 << 10, 1 << 20, 16 << 20, 40 << 20, 256 << 20, 1 << 30]
GRID = [f"gpubench_kernels::cuda::{name}[n={size // 4}]" for name in ("sum", "copy", "fill", "rmw") for size in ARRAYS]
EIGHT = [f"gpubench_kernels::cuda::{name}[n={size // 4}]"
         for name, sizes in [("sum", [1, 16, 40, 1024]), ("copy", [1 / 16, 1, 16, 256])] for size in (int(s * (1 << 20)) for s in sizes)]
# A peer that takes longer than this is ended, and said to be absent.
LIMIT_S = 600
# Samples of a first look of NVBench's, which tells how many it takes.
FIRST_LOOK = 200


def kernel(row):
    """`sum_262144` of a row that is a kernel of ours; nothing of others."""
    match = re.fullmatch(r"gpubench_kernels::cuda::(\w+)\[n=(\d+)\]", row)
    return f"{match[1]}_{match[2]}" if match and match[1] in KERNELS else None


def launches(rows, ours):
    """An empty launch, and these rows as the other programs take them, with the grid that the suite launched."""
    return [EMPTY, *(":".join([*kernel(row).split("_"), *map(str, ours[row]["grid"])]) for row in rows)]


def by_row(found, rows):
    """What a peer found under the names of its kernels, under those of the rows."""
    named = {kernel(row): row for row in rows} | {EMPTY_CASE: "empty"}
    return {named[name]: of for name, of in found.items() if name in named}


def grid(kernels):
    """Blocks, and threads of each, of a launch that is one kernel in one dimension; nothing of others."""
    if len(kernels) != 1 or kernels[0]["grid"][1:] + kernels[0]["block"][1:] != [1, 1, 1, 1]:
        return None
    return [kernels[0]["grid"][0], kernels[0]["block"][0]]


def by_suite(suite, rows, options):
    begin = time.monotonic()
    measured = run(suite, rows, ["--cache", "cold", *options], check=False)
    wall = time.monotonic() - begin
    found = {}
    for record in measured["records"]:
        of = record["measurement"]
        if of:
            interval = of["time"]["median_ci"]
            found[shown(record)] = {"us": of["time"]["median"] / 1e3, "samples": of["time"]["samples"],
                                    "half_us": (interval["high"] - interval["low"]) / 2e3,
                                    "grid": grid(of["launch"]["kernels"]),
                                    "event_us": statistics.median(of["event_times"]) / 1e3}
    return {"rows": found, "wall_s": wall, "measuring_s": measured["wall_time"] / 1e9}, measured


def by_ncu(suite, rows):
    begin = time.monotonic()
    found = ncu.measure(suite, rows)
    wall = time.monotonic() - begin
    return {"rows": found, "wall_s": wall, "measuring_s": wall}


def program(name, arguments):
    """Runs one of the programs beside this one; what it printed, and the seconds it took."""
    begin = time.monotonic()
    command = [sys.executable, str(HERE / f"{name}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    wall = time.monotonic() - begin
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise LookupError(last)
    return done.stdout, wall


def by_program(name, rows, ours):
    """A peer that prints a line of JSON."""
    printed, wall = program(name, launches(rows, ours))
    found = json.loads(printed.splitlines()[-1])
    return {"rows": by_row(found["rows"], rows), "wall_s": wall, "measuring_s": found["measuring_s"]}


def by_nvbench(rows, ours, options):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "nvbench.json")
        printed, wall = program("nvbench", [*launches(rows, ours), "--", *options, "--json", out])
        if not os.path.exists(out):
            raise LookupError(f"NVBench left no results: {printed[-500:]}")
        found, measuring = nvbench.read(out)
    return {"rows": by_row(found, rows), "wall_s": wall, "measuring_s": measuring}


def by_few_of_nvbench(rows, ours):
    """NVBench with as many samples as bring its median to the suite's interval.

    The median of n samples is known to ± 1.96·√(π/2)·σ/√n, with σ = IQR/1.349, which a first look tells.
    """
    counted = ["--no-batch", "--stopping-criterion", "sample-count"]
    look = by_nvbench(rows, ours, [*counted, "--target-samples", str(FIRST_LOOK)])
    options = ["--no-batch", "-b", EMPTY_CASE, *counted[1:], "--target-samples", str(FIRST_LOOK)]
    for row in [row for row in rows if row in look["rows"]]:
        spread = look["rows"][row]["iqr_us"] / 1.349
        wanted = (1.96 * math.sqrt(math.pi / 2) * spread / ours[row]["half_us"]) ** 2
        options += ["-b", kernel(row), *counted[1:], "--target-samples", str(max(10, math.ceil(wanted)))]
    return by_nvbench(rows, ours, options)


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def environment(measured):
    """What a reader must know of where this was measured."""
    facts = measured["devices"][0] if measured["devices"] else {"name": "no device", "properties": []}
    build = measured["program"]
    dirty = " with changes" if build["dirty"] else ""
    told = {of["name"]: of["value"].get("text") for of in facts["properties"]}
    found = {"GPU": facts["name"], "driver": told.get("driver") or "unknown", "CUDA": told.get("driver for CUDA") or "unknown",
             "commit": f"{build['commit'] or 'unknown'}{dirty}"}
    for package in ["cuda-bench", "triton", "torch", "cupy-cuda13x"]:
        found[package] = version(package)
    return found


def measure(suite, rows, wanted, options, few, keep):
    """By every peer that is wanted and there; what is found so far goes to `keep` each time. NVBench as it comes has eight rows
    where `few` says so."""
    ours, measured = by_suite(suite, rows, options)
    found = {"environment": environment(measured), "rows": rows, "peers": {"suite": ours}}
    known = [row for row in rows if kernel(row) and ours["rows"].get(row, {}).get("grid")]
    as_it_comes = [row for row in known if row in EIGHT or not few]

    def take(name, rows, by):
        if not rows:
            return
        try:
            found["peers"][name] = by(rows)
        except (LookupError, ValueError, OSError, subprocess.SubprocessError) as why:
            found["peers"][name] = {"absent": str(why)}
        keep(found)
        print(f"{name} is done", file=sys.stderr)

    if "ncu" in wanted:
        take("ncu", rows, lambda rows: by_ncu(suite, rows))
    if "write" in wanted:
        take("write", rows, lambda rows: by_suite(suite, rows, [*options, "--flush", "write"])[0])
    if "nvbench" in wanted:
        take("nvbench", as_it_comes, lambda rows: by_nvbench(rows, ours["rows"], []))
        take("nvbench-few", known, lambda rows: by_few_of_nvbench(rows, ours["rows"]))
    if "do_bench" in wanted:
        take("do_bench", known, lambda rows: by_program("do_bench", rows, ours["rows"]))
    if "cupti" in wanted:
        take("cupti", known, lambda rows: by_program("cupti", rows, ours["rows"]))
    return found


def main():
    arguments, options = split_options(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", nargs="?", help="the suite's executable")
    parser.add_argument("rows", nargs="*", help="names of rows; `all` for every row that is measured cold on a GPU")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"which (default {','.join(PEERS)})")
    parser.add_argument("--eight", action="store_true", help="NVBench as it comes on eight rows of the grid alone")
    parser.add_argument("--json", help="where to keep what was found")
    parser.add_argument("--from", dest="stored", help="print what was kept, and measure nothing")
    wanted = parser.parse_args(arguments)
    peers = wanted.peers.split(",")
    if unknown := [peer for peer in peers if peer not in PEERS]:
        parser.error(f"there is no peer {unknown[0]}; there are {', '.join(PEERS)}")

    def keep(found):
        if wanted.json:
            Path(wanted.json).write_text(json.dumps(found, indent=1) + "\n")

    if wanted.stored:
        found = json.load(open(wanted.stored))
    elif wanted.suite:
        rows = cold_rows(wanted.suite) if wanted.rows == ["all"] else wanted.rows or GRID
        found = measure(wanted.suite, rows, peers, options, wanted.eight, keep)
    else:
        parser.error("give the suite's executable, or --from")
    keep(found)
    print(table.text(found), end="")


def cold_rows(suite):
    """The names of all rows that are measured cold on a GPU."""
    listed = subprocess.run([suite, "--list", "--format", "json"], capture_output=True, text=True, check=True)
    cases = [json.loads(line) for line in listed.stdout.splitlines()]
    return [case["name"] for case in cases if case["device"] == "cuda" and "cold" in case["caches"]]


if __name__ == "__main__":
    main()
