"""Times calls in turns, so that a busy machine slows all of them alike."""
import statistics
import time


def seconds(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def in_turns(ours, theirs, calls, rounds=15):
    """Returns the least time of each, and the median over the rounds of theirs / ours."""
    for call in (ours, theirs):
        seconds(call, max(calls // 4, 3))
    pairs = []
    for k in range(rounds):
        order = (ours, theirs) if k % 2 else (theirs, ours)
        times = {call: seconds(call, calls) for call in order}
        pairs.append((times[ours], times[theirs]))
    return min(a for a, _ in pairs), min(b for _, b in pairs), statistics.median(b / a for a, b in pairs)


def print_row(what, ours, theirs, calls, unit="us"):
    """Prints a line of a table in Markdown: both times and theirs / ours."""
    a, b, ratio = in_turns(ours, theirs, calls)
    scale = {"us": 1e6, "ms": 1e3}[unit]
    print(f"| {what} | {a * scale:.2f} {unit} | {b * scale:.2f} {unit} | {ratio:.2f} |", flush=True)


def seconds_a_link(chains, rounds=40, calls=25):
    """Returns for each kind the times of one of its calls, one for each round. `chains` maps (kind, length) to a function that
    makes `length` calls one after the other; each kind has two lengths, whose times are subtracted."""
    times = {key: [] for key in chains}
    for chain in chains.values():
        seconds(chain, calls)
    for _ in range(rounds):
        for key, chain in chains.items():
            times[key].append(seconds(chain, calls))
    links = {}
    for kind in dict.fromkeys(kind for kind, _ in chains):
        short, long = sorted(length for k, length in chains if k == kind)
        links[kind] = [(b - a) / (long - short) for a, b in zip(times[kind, short], times[kind, long], strict=True)]
    return links
