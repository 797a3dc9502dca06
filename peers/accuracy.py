"""Compares the times of gpubench and of other tools with the yardstick.

The yardstick is the time until the next kernel can begin. A comparison holds if gpubench and the yardstick differ by at most half of
gpubench's interval plus the yardstick's error; below the yardstick, the wait from the latest exit of a block is added to that error.

Reads what `scripts/reproduce` recorded; prints a table of all comparisons and a summary. Nothing here measures.
"""

import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from suites import shown  # noqa: E402

# Launches up to this time, in ns, are short.
SHORT = 20e3
# Where a launch waits longer than this from its latest exit, in ns, the two do not tell where it ends.
LONG_WAIT = 150
# The clocks that a comparison may have besides gpubench: name of the column, and description.
CLOCKS = {
    "earliest end": "the latest exit of a block, and the least wait of any launch",
    "events": "events in a graph less those around an empty launch, in the yardstick's process",
    "chain": "200 µs or more of back-to-back launches on the stream, per launch (hot)",
    "CUPTI": "CUPTI's trace, less the slowdown that gpubench measures",
    "ncu": "Nsight Compute's gpu__time_duration (cold)",
    "NVBench": "NVBench, cold",
    "NVBench - empty": "NVBench, cold, minus its reading for an empty kernel, plus the time of an empty launch",
    "do_bench": "Triton's do_bench",
    "do_bench - empty": "Triton's do_bench, minus its reading for an empty kernel, plus the time of an empty launch",
    "write flush": "gpubench with --flush write (cold)",
}


def comparisons(folder):
    """One entry for each measured case that the yardstick has, in ns."""
    try:
        yardstick = json.loads((folder / "yardstick.json").read_text())["cases"]
    except (OSError, ValueError) as error:
        sys.exit(f"{folder} is no complete recording of scripts/reproduce: {error}")
    others = other_tools(folder, yardstick["empty"]["cold"]["time of an empty launch"])
    least = {cache: min(waits(case[cache]) for case in yardstick.values()) for cache in ("hot", "cold")}
    found = []
    for path in sorted(folder.glob("run-*.json")):
        for record in json.loads(path.read_text())["records"]:
            name, cache = shown(record).rsplit("::", 1)[-1], record["cache"]
            if record["measurement"] and name in yardstick and (record["measurement"].get("launch") or {}).get("kernels"):
                found.append(comparison(name, cache, record, yardstick[name], others, least[cache]))
    return found


def waits(truth):
    """What a launch takes besides the time from its earliest entry to its latest exit."""
    return truth["before"] + truth["after"] - truth["nothing"]


def comparison(name, cache, record, yardstick, others, least):
    measured, truth = record["measurement"], yardstick[cache]
    time, yardstick_time = measured["time"], truth["time"]
    wait = waits(truth) - least
    interval = time["median_ci"]
    kernels = measured["launch"]["kernels"]
    if [kernels[0]["grid"], kernels[0]["block"]] != [yardstick["grid"], yardstick["block"]]:
        sys.exit(f"{name}: the yardstick launches {yardstick['grid']} blocks, gpubench {kernels[0]['grid']}")
    clocks = {"earliest end": truth["time"] - wait, "events": truth["time by events"]}
    if cache == "hot":
        clocks["chain"] = yardstick["chain"]["kernel"]
    verified = measured.get("verification") or {}
    cupti = (verified.get("cupti") or {}).get("traced")
    if cupti:
        clocks["CUPTI"] = cupti["time"]["median"] - max(0.0, cupti.get("slowdown") or 0.0)
    # Inputs lie at one place unless gpubench moved them.
    error = truth["error" if measured.get("relocations") else "error at one place"]
    # A different clock of the multiprocessors gives a different time; that fraction is added to the error.
    counted = (measured.get("device_clock") or {}).get("mean", 1e6 * truth["clock"]) / 1e6
    other_clock = yardstick_time * abs(counted / truth["clock"] - 1)
    clocks |= {clock: times[name] for clock, times in others.items() if cache == "cold" and name in times}
    return {"case": name, "cache": cache, "time": time["median"], "half": (interval["high"] - interval["low"]) / 2,
            "yardstick": yardstick_time, "error": error + other_clock, "verdict": record["verdict"]["state"],
            "instrumentation": truth["instrumentation"], "wait": wait,
            "clock": [truth["clock"], counted], "clocks": clocks}


def other_tools(folder, of_empty):
    """Cold times in ns by tool, by case, as far as they were recorded."""
    found = {}
    path = folder / "peers.json"
    if not path.exists():
        return found
    peers = json.loads(path.read_text()).get("peers", {})
    names = {"ncu": "ncu", "write": "write flush", "nvbench": "NVBench", "nvbench-few": "NVBench", "do_bench": "do_bench"}
    for peer, name in names.items():
        rows = peers.get(peer, {}).get("rows", {})
        times = {row.rsplit("::", 1)[-1]: 1e3 * of["us"] for row, of in rows.items()}
        empty = times.pop("empty", None)
        # Of two runs of a tool, the first that has a case counts.
        new = {row: time for row, time in times.items() if row not in found.get(name, {})}
        found.setdefault(name, {}).update(new)
        if empty is not None:
            found.setdefault(f"{name} - empty", {}).update({row: time - empty + of_empty for row, time in new.items()})
    return {name: times for name, times in found.items() if times}


def off(it, clock=None):
    """The signed error of gpubench or of a clock."""
    return (it["time"] if clock is None else it["clocks"][clock]) - it["yardstick"]


def holds(it):
    """True if the yardstick, with its error, meets the interval that gpubench printed."""
    return -it["wait"] <= off(it) + it["half"] + it["error"] and off(it) <= it["half"] + it["error"]


def lines(found):
    clocks = [clock for clock in CLOCKS if any(clock in it["clocks"] for it in found)]
    yield "Times in µs; errors of all clocks in ns, against the yardstick."
    yield ""
    yield (f"{'case':24} {'':4} {'gpubench':>10} {'±':>5} {'yardstick':>10} {'±':>5} {'off':>6}  "
           + "".join(f"{clock:>17}" for clock in clocks) + f"{'instrumentation':>17}")
    for it in sorted(found, key=lambda it: (it["cache"] != "hot", it["case"].split("[")[0], it["yardstick"])):
        cells = "".join(f"{off(it, clock):17.0f}" if clock in it["clocks"] else f"{'':17}" for clock in clocks)
        mark = "" if holds(it) else " outside"
        end = f" last wait {it['wait']:.0f} ns" if it["wait"] > LONG_WAIT else ""
        there, here = it["clock"]
        end += f" {there:.0f} and {here:.0f} MHz" if abs(there - here) > 3 else ""
        verdict = "" if it["verdict"] == "valid" else f" {it['verdict']}"
        yield (f"{it['case']:24} {it['cache']:4} {it['time'] / 1e3:10.3f} {it['half']:5.0f} {it['yardstick'] / 1e3:10.3f} "
               f"{it['error']:5.0f} {off(it):6.0f}  {cells}{it['instrumentation']:17.0f}{mark}{end}{verdict}")
    yield ""
    if any("NVBench" in it["clocks"] for it in found):
        yield from tools(found)
    yield from summary(found, clocks)


def summary(found, clocks):
    inside = sum(map(holds, found))
    yield f"{inside} of {len(found)} intervals ({100 * inside / len(found):.1f} %) hold the yardstick, within its error."
    sure = [it for it in found if it["wait"] <= LONG_WAIT]
    inside = sum(map(holds, sure))
    yield (f"{inside} of {len(sure)} ({100 * inside / len(sure):.1f} %) where a launch waits at most {LONG_WAIT} ns from "
           f"its latest exit.")
    yield ""
    yield f"{'median errors':28} {'cases':>6} {'hold':>7} {'median ±':>14} {'yardstick ±':>12}   of the time"
    for cache in ("hot", "cold"):
        for name, within in (("up to 20 µs", lambda it: it["yardstick"] <= SHORT), ("above 20 µs", lambda it: it["yardstick"] > SHORT)):
            these = [it for it in found if it["cache"] == cache and within(it)]
            if not these:
                continue
            half = statistics.median(it["half"] for it in these)
            share = statistics.median(it["half"] / it["time"] for it in these)
            error = statistics.median(it["error"] for it in these)
            held = 100 * sum(map(holds, these)) / len(these)
            yield (f"{cache + ', ' + name:28} {len(these):6} {held:6.1f}% {half:6.0f} ns {100 * share:4.2f}% {error:9.0f} ns   "
                   f"{signed(these)}")
            for clock in clocks:
                those = [it for it in these if clock in it["clocks"]]
                if those:
                    yield f"  {clock:26} {len(those):6} {'':7} {'':14} {'':12}   {signed(those, clock)}"
    yield ""
    yield "Clocks:"
    yield from (f"  {clock:18} {CLOCKS[clock]}" for clock in clocks)


def tools(found):
    """The cold times of the other tools, which differ from the yardstick by two effects: what events add, and a flush that leaves dirty
    lines."""
    names = ["write flush", "NVBench", "NVBench - empty", "do_bench", "do_bench - empty", "ncu"]
    yield f"{'cold, µs':22} {'yardstick':>10} {'gpubench':>10}" + "".join(f"{name:>18}" for name in names)
    for it in sorted(found, key=lambda it: (it["case"].split("[")[0], it["yardstick"])):
        if "NVBench" in it["clocks"]:
            cells = "".join(f"{it['clocks'][name] / 1e3:18.2f}" if name in it["clocks"] else f"{'':18}" for name in names)
            yield f"{it['case']:22} {it['yardstick'] / 1e3:10.2f} {it['time'] / 1e3:10.2f}{cells}"
    yield ""


def signed(these, clock=None):
    errors = [off(it, clock) for it in these]
    shares = [error / it["yardstick"] for error, it in zip(errors, these)]
    return f"{statistics.median(errors):+7.0f} ns {100 * statistics.median(shares):+6.2f} %"


def main():
    found = [it for folder in sys.argv[1:] for it in comparisons(Path(folder))]
    if not found:
        sys.exit("usage: accuracy.py FOLDER…, folders that scripts/reproduce made")
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
