#!/usr/bin/env python3
"""What other tools report for the launches of `gpu_caught`: NVBench, Triton's `do_bench`, and Criterion.

    peers/caught.py --json docs/results/h200/caught-peers.json --into docs/results/caught.md
    peers/caught.py --from docs/results/h200/caught-peers.json --into docs/results/caught.md

In: nothing, or what was kept; out: a table. Each launch is timed in a process of its own, for 15 s at most. Needs a
GPU, torch, triton and `cuda-bench`; and for Criterion the program of peers/criterion (`cargo build --release` there, or
`--criterion PROGRAM`). A tool that is not there is said, and left out. Needs no network.
"""

import argparse
import importlib.metadata
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import launches
import nvbench

HERE = Path(__file__).resolve().parent
# A tool that takes longer for a launch is ended, and that is its result.
LIMIT_S = 15
BEGIN, END = "<!-- other tools: peers/caught.py --into -->", "<!-- end of other tools -->"
TOOLS = {
    "nvbench": "NVBench",
    "do_bench": "`do_bench`",
    "queued": "Criterion, launch alone",
    "waited": "Criterion, launch and wait",
}


def by_nvbench(name):
    """The median of NVBench's cold times, in µs."""
    import cuda.bench as bench

    def benchmark(state):
        launch = launches.LAUNCHES[name]()
        state.exec(lambda given: launch(given.get_stream().addressof()))

    benchmark.__name__ = f"{name}_1"
    bench.register(benchmark)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "nvbench.json")
        bench.run_all_benchmarks([name, "--timeout", "3", "--json", out])
        found, _ = nvbench.read(out)
        if not found:
            raise RuntimeError(skipped(json.load(open(out))))
    return next(iter(found.values()))["us"]


def skipped(run):
    """Why NVBench has no time."""
    states = [state for benchmark in run["benchmarks"] for state in benchmark["states"] or []]
    reasons = [state.get("skip_reason") for state in states if state.get("is_skipped")]
    return (reasons or ["no time"])[0]


def by_do_bench(name):
    """The median of `do_bench`'s times, in µs. The stream that it gives is PyTorch's, which is the default stream."""
    import torch
    from triton.testing import do_bench

    torch.cuda.init()
    torch.zeros(1, device="cuda")
    launch = launches.LAUNCHES[name]()
    times = do_bench(lambda: launch(torch.cuda.current_stream().cuda_stream), return_mode="all")
    return 1e3 * statistics.median(times)


def apart(measure, name):
    """Runs `measure` in a process of its own; its time in µs, or what became of it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            found = {"us": measure(name)}
        except BaseException as error:  # Whatever it is, it is the result.
            found = {"error": f"{error}".strip().splitlines()[0] if f"{error}".strip() else type(error).__name__}
        os.write(write, json.dumps(found).encode())
        # Nothing that this launch left behind is to be waited for.
        os._exit(0)
    os.close(write)
    begin, ended = time.monotonic(), (0, 0)
    while time.monotonic() - begin < LIMIT_S and ended[0] == 0:
        ended = os.waitpid(child, os.WNOHANG)
        time.sleep(0.02)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return {"error": f"not done after {LIMIT_S} s"}
    said = os.read(read, 1 << 16)
    os.close(read)
    return json.loads(said) if said else {"error": f"ended by signal {os.WTERMSIG(ended[1])}" if os.WIFSIGNALED(ended[1]) else "ended"}


def by_criterion(program, name):
    """Criterion's estimates of the median in µs: of the launch alone, and with a wait behind it."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "CRITERION_HOME": home}
        try:
            done = subprocess.run([program, name], env=environment, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return {way: {"error": f"not done after {LIMIT_S} s"} for way in ("queued", "waited")}
        found = {}
        for way in ("queued", "waited"):
            estimates = Path(home, name, way, "new/estimates.json")
            if estimates.exists():
                found[way] = {"us": json.loads(estimates.read_text())["median"]["point_estimate"] / 1e3}
            else:
                lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("note:")]
                found[way] = {"error": lines[-1].strip() if lines else f"exit {done.returncode}"}
        return found


def measure(names, tools, criterion, kept, keep):
    """Fills the launches of `kept`, which goes to `keep` after each."""
    if "nvbench" in tools:
        import cuda.bench  # noqa: F401  Once, before the processes of the launches.
    if "do_bench" in tools:
        import torch  # noqa: F401
        import triton.testing  # noqa: F401
    for name in names:
        found = kept["launches"][name] = {}
        for tool, by in [("nvbench", by_nvbench), ("do_bench", by_do_bench)]:
            if tool in tools:
                found[tool] = apart(by, name)
        if criterion:
            found.update(by_criterion(criterion, name))
        keep(kept)
        print(name, found, file=sys.stderr)


def environment(criterion):
    """What a reader must know of where this was measured."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
    try:
        name, driver = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    except (OSError, subprocess.CalledProcessError, ValueError):
        name, driver = "unknown", "unknown"
    found = {"GPU": name, "driver": driver}
    for package in ["cuda-bench", "triton", "torch"]:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    lock = HERE / "criterion/Cargo.lock"
    locked = re.search(r'name = "criterion"\nversion = "([^"]+)"', lock.read_text()) if lock.exists() else None
    found["criterion"] = "left out" if criterion is None else locked[1] if locked else "unknown"
    return found


def cell(of):
    """A time, or what became of it, in few words."""
    if of is None:
        return "–"
    if "us" in of:
        us = of["us"]
        return f"{us / 1e3:.3f} ms" if us >= 1e3 else f"{us:.2f} µs"
    return re.sub(r"\s+", " ", of["error"]).replace("|", "/")[:60]


def table(kept):
    found = kept["launches"]
    there = [tool for tool in TOOLS if any(tool in of for of in found.values())]
    lines = ["| launch | " + " | ".join(TOOLS[tool] for tool in there) + " |", "|---|" + "---|" * len(there)]
    for name, of in found.items():
        lines.append(f"| `{name}` | " + " | ".join(cell(of.get(tool)) for tool in there) + " |")
    told = ", ".join(f"{name} {value}" for name, value in kept["environment"].items())
    return "\n".join([f"Measured with {told}.", "", *lines]) + "\n"


def present(tools):
    """Those of the tools that are installed."""
    import importlib.util

    needs = {"nvbench": "cuda.bench", "do_bench": "triton"}

    def is_there(tool):
        try:
            return importlib.util.find_spec(needs[tool]) is not None
        except ModuleNotFoundError:
            return False

    missing = [tool for tool in tools if not is_there(tool)]
    if missing:
        print(f"not installed, and left out: {', '.join(missing)}", file=sys.stderr)
    return [tool for tool in tools if tool not in missing]


def put(text, path):
    page = Path(path).read_text()
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{path} has no `{BEGIN}` and `{END}`")
    Path(path).write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="launches; all if none is named")
    parser.add_argument("--json", help="where to keep what was found")
    parser.add_argument("--from", dest="stored", help="show what was kept, and measure nothing")
    parser.add_argument("--into", help="put the table into this page")
    parser.add_argument("--criterion", default=str(HERE / "criterion/target/release/criterion-peer"), help="its program")
    wanted = parser.parse_args()
    if unknown := [name for name in wanted.names if name not in launches.LAUNCHES]:
        parser.error(f"there is no launch {unknown[0]}")

    def keep(kept):
        if wanted.json:
            Path(wanted.json).write_text(json.dumps(kept, indent=1) + "\n")

    if wanted.stored:
        kept = json.loads(Path(wanted.stored).read_text())
    else:
        criterion = wanted.criterion if os.access(wanted.criterion, os.X_OK) else None
        if criterion is None:
            print(f"{wanted.criterion} is not there: Criterion is left out", file=sys.stderr)
        kept = {"environment": environment(criterion), "launches": {}}
        measure(wanted.names or list(launches.LAUNCHES), present(["nvbench", "do_bench"]), criterion, kept, keep)
    keep(kept)
    if wanted.into:
        put(table(kept), wanted.into)
    else:
        print(table(kept), end="")


if __name__ == "__main__":
    main()
