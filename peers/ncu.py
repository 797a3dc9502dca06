"""Nsight Compute as the yardstick: the time of each launch of a suite by its own reckoning.

In: a suite's executable and names of its rows; out: for each row the median of `gpu__time_duration` over many launches, caches
flushed by Nsight before each of them, clocks as they are.
"""

import csv
import io
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

from suites import shown

LAUNCHES = 11


def measure(suite, rows):
    """The median in µs of each row.

    The rows run in one process. Each launches its kernel once to be checked, and then as often as it has samples: so the
    profile is cut into pieces of that length, in the order of the records.
    """
    if shutil.which("ncu") is None:
        raise LookupError("ncu is not on the PATH")
    kernels = sorted({re.sub(r"\[.*", "", row).rsplit("::", 1)[-1] for row in rows})
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run.json"
        command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all",
                   "--cache-control", "all", "--clock-control", "none", "--metrics", "gpu__time_duration.sum",
                   "--kernel-name", f"regex:^({'|'.join(kernels)})$",
                   suite, "--exact", *rows, "--cache", "cold", "--path", "stream", "--flush", "none",
                   "--samples", str(LAUNCHES), "--warmup", "0", "--json", str(out)]
        run = subprocess.run(command, capture_output=True, text=True)
        text = out.read_text() if out.exists() else ""
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    profile = list(csv.DictReader(io.StringIO("\n".join(lines))))
    profile = [line for line in profile if re.fullmatch(r"[0-9.,]+", line.get("gpu__time_duration.sum", ""))]
    if not profile or not text:
        raise LookupError(f"ncu profiled nothing: {run.stdout[-1000:]}{run.stderr[-1000:]}")
    profiled = json.loads(text)["records"]
    piece = 1 + LAUNCHES
    if len(profile) != piece * len(profiled):
        raise LookupError(f"ncu profiled {len(profile)} launches of {len(profiled)} rows, where {piece} each were expected")
    times = {}
    for number, record in enumerate(profiled):
        launches = profile[number * piece:(number + 1) * piece]
        name = record["benchmark"].rsplit("::", 1)[-1]
        if any(line["Kernel Name"].split("(")[0] != name for line in launches):
            raise LookupError(f"ncu's launches of {shown(record)} are not where they are expected")
        durations = [float(line["gpu__time_duration.sum"].replace(",", "")) / 1e3 for line in launches[1:]]
        times[shown(record)] = {"us": statistics.median(durations), "samples": LAUNCHES}
    return times
