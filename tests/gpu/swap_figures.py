# SPDX-License-Identifier: Apache-2.0
"""What swap.py makes of what it has seen: swaps of a trace, growth, results that are the same."""

import collections
import statistics

import judging

# What may come and go without being a leak: an absolute number, and a part of what there was.
SLACK = {"descriptors": 2, "mappings": 4, "anonymous_kib": 1024, "host_bytes": 64 << 20}
SLACK |= {"resident_bytes": 64 << 20, "other_bytes": 64 << 20}
SLACK_PART = 0.02
MIB = 1 << 20
# Less than half of the shortest turn here, so that what two turns moved is never one.
PARTS_APART_MS = 500
SHORT_MS = 5


def swap_outs(moves):
    """Of each tenant, when its memory began to leave and for how long it left, in milliseconds.
    What leaves in parts that are close together, as another one fills its memory, is one swap-out;
    its time is that of the parts."""
    result = collections.defaultdict(list)
    ends = {}
    for move in sorted(moves, key=lambda move: move["start_us"]):
        if move["way"] != "out":
            continue
        swaps = result[move["tenant"]]
        start, end = move["start_us"] / 1e3, move["end_us"] / 1e3
        if swaps and start - ends[move["tenant"]] < PARTS_APART_MS:
            began, took = swaps.pop()
            swaps.append((began, took + end - start))
        else:
            swaps.append((start, end - start))
        ends[move["tenant"]] = end
    return dict(result)


def first_to_later(outs):
    """Of each tenant, how long its first swap-out took, in terms of the median of all those that
    were nobody's first; None where there are none. What is too short to be a swap of gigabytes (a
    piece that left by itself) says nothing about times."""
    long = {
        tenant: [took for _, took in swaps if took >= SHORT_MS] for tenant, swaps in outs.items()
    }
    later = [took for times in long.values() for took in times[1:]]
    if not later:
        return None
    median = statistics.median(later)
    return {tenant: times[0] / median for tenant, times in long.items() if times}


def thirds(samples):
    size = max(1, len(samples) // 3)
    return samples[:size], samples[-size:]


def grew(what, samples):
    """Whether a count is higher in the last third of samples than it ever was in the first. `what`
    ends with a name of SLACK."""
    first, last = thirds(samples)
    slack = SLACK.get(what.split()[-1], 0)
    return statistics.median(last) > max(first) * (1 + SLACK_PART) + slack


def growth(series):
    """Complaints about all counts that grew: name to samples in the order of time."""
    return [
        f"{what} {max(thirds(samples)[0])} -> {statistics.median(thirds(samples)[1]):g}"
        for what, samples in series.items()
        if len(samples) > 1 and grew(what, samples)
    ]


def last_line(text):
    return (text.strip().splitlines() or [""])[-1]


def trained(text):
    """Loss and weights of the last line that train.py printed, or None."""
    found = judging.TRAINED.search(last_line(text))
    return found.groups() if found else None


def same_result(bare, shared):
    """Whether the last lines tell the same: loss and weights, or else the whole line."""
    if trained(bare) is None and trained(shared) is None:
        return last_line(bare) != "" and last_line(bare) == last_line(shared)
    return trained(bare) == trained(shared)


def passed(code, text):
    """Whether nvshare-workload found all its data right."""
    return code == 0 and "PASS" in last_line(text)


def mib(number):
    return f"{number // MIB}"
