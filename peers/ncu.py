"""Nsight Compute as the yardstick: the time of each launch of a suite by its own reckoning.

In: a suite's executable and names of its rows; out: for each row the median over processes of `gpu__time_duration`, caches flushed by
Nsight before each launch, clocks as they are. `cargo gpubench verify` runs the suite under `ncu` and knows which launches are whose: kernels
may have any names, and a launch any number of them. `cargo-gpubench` is in the folder of the suite or in the PATH.
"""

import json
import pathlib
import statistics
import subprocess
import tempfile

from suites import shown

# Each profiles three launches of a row, and tells their mean.
PROCESSES = 4


def measure(suite, rows):
    """The median in µs of each row. Its own samples are no part of it, so that few are taken."""
    found, refused = {}, None
    for _ in range(PROCESSES):
        for record in profiled(suite, rows):
            verification = (record["measurement"] or {}).get("verification") or {}
            counted = verification.get("ncu") or {}
            duration = counted.get("counted", {}).get("duration")
            if duration is None:
                refused = f"{shown(record)}: {counted.get('failed', 'ncu told no time')}"
            else:
                found.setdefault(shown(record), []).append((duration / 1e3, counted["counted"]["launches"]))
    if not found:
        raise LookupError(refused or "ncu profiled nothing")
    return {row: {"us": statistics.median(us for us, _ in seen), "samples": sum(launches for _, launches in seen)}
            for row, seen in found.items()}


def profiled(suite, rows):
    """The records of a run under `ncu`."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run.json"
        # Cargo puts examples into a folder below that of `cargo-gpubench`.
        built = (folder / "cargo-gpubench" for folder in pathlib.Path(suite).resolve().parents[:2])
        tool = str(next(filter(pathlib.Path.exists, built), "cargo-gpubench"))
        command = [tool, "gpubench", "verify", "--program", suite, "--json", str(out),
                   "--", "--exact", *rows, "--cache", "cold", "--samples", "8"]
        run = subprocess.run(command, capture_output=True, text=True)
        if not out.exists():
            raise LookupError(f"the suite measured nothing under ncu: {run.stderr[-1000:]}")
        return json.loads(out.read_text())["records"]
