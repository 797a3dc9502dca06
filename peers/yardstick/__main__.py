#!/usr/bin/env python3
"""Times launches by the GPU's `%globaltimer`, without any code of gpubench. The result uses neither events nor CUPTI.

    python3 peers/yardstick [--json FILE] [CASE…]

Two kernels store the time, one before and one after a launch, in a captured graph. The yardstick is the difference of the two, minus
that with nothing in between: the launch lasts until the next kernel can begin, when its writes are done.

In an instrumented copy of the kernel each block stores its entry and its exit. A launch cannot end before its latest exit. The least
wait around the blocks of any launch places that exit in time (peers/accuracy.py). Where inputs lie moves a time: each case has several
allocations, and an error for the median over them and one for a single allocation. The clock of the multiprocessors is counted after
each group, in MHz.

For comparison it also records event times, and chains of back-to-back launches on a stream. Needs a GPU of compute capability 8.0 or
later, its driver, and Python without packages.
"""

import argparse
import json
import math
import random
import statistics
import sys
import time

from cases import CLOCK, STAMPED, Buffer, all_cases, u32, u64
from driver import CLOCK_KHZ, L2_BYTES, MULTIPROCESSORS, Device, Events, Graph, Launch

# The allocations of a case, the groups in each, and the samples of each kind in a group.
PLACES, GROUPS, REPEATS = 6, 4, 16
# A group takes fewer samples where it would take longer than this, in ns.
LONGEST_GROUP = 12e6
# The wait before a chain, in which the host enqueues it, and the wait before a hot sample, in ns.
HOLD, SPACE = 3_000_000, 8_000
# What lies between two stamps: nothing, an empty kernel, the kernel, its instrumented copy. Between two events: the last two alone.
KINDS = ("nothing", "empty", "kernel", "copy", "empty by events", "kernel by events")
# The most launches of a chain.
CHAIN = 64
# Of Student's distribution with PLACES - 1 degrees of freedom, for 95 %.
STUDENT = 2.571


class Yardstick:
    def __init__(self, seed):
        self.device = Device()
        self.random = random.Random(seed)
        self.stamp = self.own("stamp", [u64(0)])
        self.hold = self.own("wait", [u64(HOLD)])
        self.space = self.own("wait", [u64(SPACE)])
        self.empty = self.own("nothing", [u64(0)], (32, 1, 1))
        self.multiprocessors = self.device.attribute(MULTIPROCESSORS)
        self.l2 = self.device.attribute(L2_BYTES) // 128 * 128
        self.flushed = self.device.memory(self.l2)
        lines = [u64(self.flushed), u64(self.l2 // 128)]
        self.drop = self.own("drop", lines, (256, 1, 1), (8 * self.multiprocessors, 1, 1))
        self.times = self.device.memory(16 * 1024)
        self.counted = self.device.memory(16)
        self.cycles = self.own("cycles", [u64(self.counted)])
        self.pairs = [Events(self.device) for _ in range(len(KINDS) * REPEATS)]
        self.step = self.timer_step()

    def own(self, name, arguments, block=(1, 1, 1), grid=(1, 1, 1)):
        return Launch(self.device, self.device.function(CLOCK, name), grid, block, arguments)

    def timer_step(self):
        """The greatest common divisor of the timer's steps, their median and the largest."""
        count = 1024
        self.own("timer_steps", [u64(self.times), u32(count)])()
        self.device.synchronize()
        steps = self.device.read(self.times, count)
        return {"divisor": math.gcd(*steps), "median": statistics.median(steps), "largest": max(steps)}

    def inputs(self, case, place):
        """The arguments of a case, and the memory that belongs to them. All but the first place have gaps of random sizes."""
        arguments, memory = [], []
        for argument in case.arguments:
            if not isinstance(argument, Buffer):
                arguments.append(argument)
                continue
            if place > 0:
                memory.append(self.device.memory(self.random.randrange(1, 64) * (64 << 10)))
            address = self.device.memory(argument.size)
            memory.append(address)
            arguments.append(u64(address))
            if argument.fill:
                self.own(argument.fill, [u64(address), *argument.of], (256, 1, 1), (1024, 1, 1))()
            else:
                self.device.fill(address, argument.size)
        self.device.synchronize()
        return arguments, memory

    def measure(self, case):
        kernel = self.device.function(case.path, case.kernel)
        copy = self.device.function(STAMPED, f"stamped_{case.kernel}")
        groups, chains = {"hot": [], "cold": []}, []
        for place in range(PLACES):
            arguments, memory = self.inputs(case, place)
            launch = Launch(self.device, kernel, case.grid, case.block, arguments)
            stamped = Launch(self.device, copy, case.grid, case.block, [*arguments, u64(0)])
            rough = self.rough(launch)
            repeats = int(min(REPEATS, max(2, LONGEST_GROUP / (len(KINDS) * (rough + 40e3)))))
            stamps = self.device.memory(16 * case.blocks() * repeats)
            for cache, found in groups.items():
                found.append([self.group(case, launch, stamped, cache, (stamps, repeats)) for _ in range(GROUPS)])
            chains.append(self.chain(case, launch, stamped, rough))
            for address in (stamps, *memory):
                self.device.free(address)
        results = {cache: self.summary(case, cache, found) for cache, found in groups.items()}
        results["chain"] = {name: statistics.median(chain[name] for chain in chains) for name in chains[0]}
        return results

    def rough(self, launch):
        """About the time of a launch in ns."""
        events = Events(self.device)
        launch()
        self.hold()
        events.begin()
        for _ in range(4):
            launch()
        events.end()
        return events.nanoseconds() / 4

    def group(self, case, launch, stamped, cache, stamps):
        """Captures and replays samples of all kinds in random order. Returns the readings of each kind, and the parts of the copies'."""
        stamps, repeats = stamps
        order = []
        for _ in range(repeats):
            kinds = list(KINDS)
            self.random.shuffle(kinds)
            order += kinds

        def work():
            launch()
            copies = 0
            for number, kind in enumerate(order):
                if cache == "cold":
                    self.device.fill(self.flushed, self.l2)
                    self.drop()
                else:
                    self.space()
                by_events = kind.endswith("by events")
                if by_events:
                    self.pairs[number].begin_in_graph()
                else:
                    self.stamp(self.times + 16 * number)
                if kind.startswith("empty"):
                    self.empty()
                elif kind.startswith("kernel"):
                    launch()
                elif kind == "copy":
                    stamped(stamps + 16 * case.blocks() * copies)
                    copies += 1
                if by_events:
                    self.pairs[number].end_in_graph()
                else:
                    self.stamp(self.times + 16 * number + 8)

        graph = Graph(self.device, work)
        # The first replay of a graph is slower.
        graph()
        graph()
        self.cycles()
        self.device.synchronize()
        graph.destroy()
        ends = self.spans(stamps, case.blocks(), repeats)
        times = self.device.read(self.times, 2 * len(order))
        cycles, nanoseconds = self.device.read(self.counted, 2)
        found = {name: [] for name in (*KINDS, "before", "span", "after")} | {"clock": [1e3 * cycles / nanoseconds]}
        for number, kind in enumerate(order):
            if kind.endswith("by events"):
                found[kind].append(self.pairs[number].nanoseconds())
                continue
            begin, end = times[2 * number : 2 * number + 2]
            found[kind].append(end - begin)
            if kind == "copy":
                at = 2 * len(found["span"])
                entered, left = ends[at : at + 2]
                found["before"].append(entered - begin)
                found["span"].append(left - entered)
                found["after"].append(end - left)
        return found

    def spans(self, stamps, blocks, launches):
        """The earliest entry and the latest exit of each of these launches of a copy."""
        ends = self.device.memory(16 * launches)
        self.own("span", [u64(stamps), u64(blocks), u64(ends)], (1024, 1, 1), (launches, 1, 1))()
        self.device.synchronize()
        found = self.device.read(ends, 2 * launches)
        self.device.free(ends)
        return found

    def chain(self, case, launch, stamped, rough):
        """Back-to-back launches on the stream, hot: the time of one according to stamps and events around all of them; the same of the
        copies; and the gap from the latest exit of one to the earliest entry of the next."""
        count = int(min(CHAIN, max(4, LONGEST_GROUP / rough)))
        stamps = self.device.memory(16 * case.blocks() * count)
        events = Events(self.device)
        launch()
        self.hold()
        self.stamp(self.times)
        for _ in range(count):
            launch()
        self.stamp(self.times + 8)
        events.begin()
        for _ in range(count):
            launch()
        events.end()
        by_events = events.nanoseconds() / count
        self.hold()
        self.stamp(self.times + 16)
        for number in range(count):
            stamped(stamps + 16 * case.blocks() * number)
        self.stamp(self.times + 24)
        self.device.synchronize()
        ends = self.spans(stamps, case.blocks(), count)
        times = self.device.read(self.times, 4)
        self.device.free(stamps)
        gaps = [ends[2 * number + 2] - ends[2 * number + 1] for number in range(count - 1)]
        return {"kernel": (times[1] - times[0]) / count, "kernel by events": by_events,
                "copy": (times[3] - times[2]) / count, "gap": statistics.mean(gaps)}

    def median(self, values):
        """The median of readings in steps of the timer, between two steps."""
        return statistics.median_grouped(values, self.step["divisor"])

    def summary(self, case, cache, places):
        """The yardstick, its error, and everything that they are made of, in ns."""
        pooled = lambda groups: {name: self.median([v for group in groups for v in group[name]]) for name in groups[0]}  # noqa: E731
        all_groups = pooled([group for place in places for group in place])
        of_places = [found["kernel"] - found["nothing"] for found in map(pooled, places)]
        found = dict(all_groups)
        found["clock"] = statistics.mean(group["clock"][0] for place in places for group in place)
        found["time"] = found["kernel"] - found["nothing"]
        found["time of an empty launch"] = found["empty"] - found["nothing"]
        found["instrumentation"] = found["copy"] - found["kernel"]
        found["time by events"] = found["kernel by events"] - found["empty by events"] + found["time of an empty launch"]
        found["places"] = of_places
        found["samples"] = sum(len(group["kernel"]) for place in places for group in place)
        # Of the median over places, and of the time at any one place.
        spread, step = STUDENT * statistics.stdev(of_places), self.step["divisor"] / 2
        found["error"] = math.hypot(spread * math.sqrt(1 / PLACES), step)
        found["error at one place"] = math.hypot(spread * math.sqrt(1 / PLACES + 1), step)
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all if none is given")
    parser.add_argument("--json", help="the file for the results")
    parser.add_argument("--seed", type=int, default=1, help="of the order of samples and of the places of inputs")
    wanted = parser.parse_args()
    yardstick = Yardstick(wanted.seed)
    device = yardstick.device
    found = {"device": device.name(), "cuda": device.driver(), "clock_khz": device.attribute(CLOCK_KHZ), "l2": yardstick.l2,
             "timer_step": yardstick.step, "cases": {}}
    began = time.monotonic()
    for case in all_cases(yardstick.multiprocessors):
        if wanted.cases and case.kernel != "empty" and not any(text in case.name for text in wanted.cases):
            continue
        found["cases"][case.name] = results = yardstick.measure(case) | {"grid": case.grid, "block": case.block}
        for cache in ("hot", "cold"):
            of = results[cache]
            print(f"{case.name:24} {cache:4} {of['time'] / 1e3:10.3f} µs ± {of['error']:6.0f} ns, "
                  f"instrumentation {of['instrumentation']:6.0f} ns", flush=True)
    found["seconds"] = time.monotonic() - began
    if wanted.json:
        with open(wanted.json, "w") as out:
            json.dump(found, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    sys.exit(main())
