"""What `compare` prints. In: what it found; out: lines of text. Nothing here measures."""

import statistics

# A row is near the yardstick within this part of it or so many µs, whichever is more.
NEAR, NEAR_US = 0.01, 0.15
# The GPU's own begin and end of a kernel.
YARDSTICK = "cupti"
# What it calls a kernel's time is something else, so that the difference is no error.
OTHER_CLOCK = "ncu"
# What stands beside the yardstick, and what it is called.
HELD = {
    "suite": "suite",
    "write": "suite, --flush write",
    "nvbench": "NVBench",
    "nvbench-few": "NVBench, few samples",
    "do_bench": "do_bench",
    "ncu": "ncu",
}


def short(row):
    return row.rsplit("::", 1)[-1]


def times(found, peer):
    """The times of a peer in µs, by row."""
    return {row: of["us"] for row, of in found["peers"].get(peer, {}).get("rows", {}).items()}


def summary(found, peer):
    """The median error of a peer in parts of the yardstick, and how many of its rows are near it, in words."""
    truth, off = times(found, YARDSTICK), errors(found, peer)
    if not off or peer == OTHER_CLOCK:
        return "–", "–"
    relative = statistics.median(abs(error) / truth[row] for row, error in off.items())
    near = sum(is_near(error, truth[row]) for row, error in off.items())
    return f"{100 * relative:.1f} %", f"{near} of {len(off)}"


def present(found):
    return [peer for peer in HELD if times(found, peer)]


def errors(found, peer, rows=None):
    """How far a peer is off the yardstick, in µs, by row."""
    truth, theirs = times(found, YARDSTICK), times(found, peer)
    wanted = rows if rows is not None else found["rows"]
    return {row: theirs[row] - truth[row] for row in wanted if row in theirs and row in truth}


def is_near(error, truth):
    return abs(error) <= max(NEAR_US, NEAR * truth)


def text(found):
    """All of it, for people."""
    parts = [environment(found), rows(found), totals(found), nearer(found), steps(found), same_flush(found), absent(found)]
    return "\n".join("\n".join(part) + "\n" for part in parts if part)


def environment(found):
    return [f"{name}: {value}" for name, value in found["environment"].items()]


def rows(found):
    peers, truth = present(found), times(found, YARDSTICK)
    lines = [f"{'cold, µs':20} {'CUPTI':>9}" + "".join(f"  {HELD[peer]:>24}" for peer in peers)]
    lines.append(" " * 30 + "".join(f"  {'time':>9} {'error':>7} {'samples':>6}" for _ in peers))
    for row in found["rows"]:
        line = f"{short(row):20} " + (f"{truth[row]:9.3f}" if row in truth else f"{'-':>9}")
        for peer in peers:
            of = found["peers"][peer]["rows"].get(row)
            if of is None:
                line += f"  {'-':>9} {'':>7} {'':>6}"
                continue
            error = f"{100 * (of['us'] / truth[row] - 1):+6.1f}%" if row in truth else ""
            line += f"  {of['us']:9.3f} {error:>7} {of['samples']:6}"
        lines.append(line.rstrip())
    return lines


def totals(found):
    truth = times(found, YARDSTICK)
    lines = [f"{'':22} {'rows':>4} {'samples':>9} {'all of it':>10} {'measuring':>10} {'median error':>13} {'near CUPTI':>10}"]
    for peer in present(found):
        of, (error, near) = found["peers"][peer], summary(found, peer)
        samples = sum(each["samples"] for each in of["rows"].values())
        lines.append(f"{HELD[peer]:22} {len(of['rows']):4} {samples:9} {of['wall_s']:8.1f} s {of['measuring_s']:8.1f} s "
                     f"{error:>13} {near:>10}")
    if truth:
        lines.append(f"{'CUPTI':22} {len(truth):4} {sum(of['samples'] for of in found['peers'][YARDSTICK]['rows'].values()):9} "
                     f"{found['peers'][YARDSTICK]['wall_s']:8.1f} s")
        lines.append("near: within 1 % or 0.15 µs, whichever is more; all of it: the whole process, from its start to its end")
    return lines


def nearer(found):
    """The rows in which a peer is nearer to the yardstick than the suite."""
    lines, ours = [], errors(found, "suite")
    for peer in present(found):
        if peer in ("suite", "write", OTHER_CLOCK):
            continue
        theirs = errors(found, peer)
        both = [row for row in theirs if row in ours]
        better = [row for row in both if abs(theirs[row]) < abs(ours[row])]
        names = ", ".join(f"{short(row)} by {abs(ours[row]) - abs(theirs[row]):.2f} µs" for row in better)
        shown = f" ({names})" if names else ""
        lines.append(f"{HELD[peer]} is nearer to CUPTI than the suite in {len(better)} of {len(both)} rows{shown}.")
    return lines


def steps(found):
    """What one row adds to the one before it, in which whatever is constant cancels."""
    truth, ours = times(found, YARDSTICK), times(found, "suite")
    both = [row for row in found["rows"] if row in truth and row in ours]
    pairs = [(one, other) for one, other in zip(both, both[1:]) if one.split("[")[0] == other.split("[")[0]]
    if not pairs:
        return []
    lines = [f"{'from this row to the next':34} {'suite µs':>10} {'CUPTI µs':>10} {'off by µs':>10}"]
    for one, other in pairs:
        mine, theirs = ours[other] - ours[one], truth[other] - truth[one]
        part = f"{100 * (mine / theirs - 1):+7.1f}%" if theirs else ""
        lines.append(f"{short(one):34} {mine:10.3f} {theirs:10.3f} {mine - theirs:+10.3f} {part}")
    return lines


def same_flush(found):
    """The suite with NVBench's flush, before its overhead is taken off."""
    theirs, behind = times(found, "nvbench"), found["peers"].get("write", {}).get("rows", {})
    both = [row for row in found["rows"] if row in behind and row in theirs]
    if not both:
        return []
    lines = [f"{'events, flushed by write':26} {'suite µs':>10} {'NVBench µs':>11}"]
    for row in both:
        ours = behind[row]["event_us"]
        lines.append(f"{short(row):26} {ours:10.3f} {theirs[row]:11.3f} {100 * (ours / theirs[row] - 1):+7.1f}%")
    return lines


def absent(found):
    return [f"{peer} is not here: {of['absent']}" for peer, of in found["peers"].items() if "absent" in of]
