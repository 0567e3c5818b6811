# SPDX-License-Identifier: Apache-2.0
"""The parts of swap.py that need no framework: a soak, and the first swap-out of a tenant."""

import collections

import swap_figures
import swap_node

TURNS_MIN = 200
FIRST_MAX = 2.0
# What a workload may take to begin, to wait for its last turn and to check its data.
END_S = 60
# Of the part `first`: when the second and the third tenant come, and how long each one runs. Host
# memory is made ready from when a tenant is not alone, which may take 10 s: none is swapped out for
# the first time before that.
FIRST_SECONDS = (62, 60, 46)
FIRST_APART = (3, 12)
FIRST_TURN = "12s"


class Soak:
    def __init__(self, node, options, table):
        self._node = node
        self._options = options
        self._table = table
        self._series = collections.defaultdict(list)
        self._next_s = options.every
        self.ended = False

    def sample(self):
        """A row, if it is time for one and all are there."""
        if self._node.seconds() < self._next_s or self.ended:
            return
        status = self._node.look()
        pids = {child.name: child.process.pid for child in self._node.children}
        uses = status["uses"]
        if len(uses) < len(pids) or not all(child.runs() for child in self._node.children):
            # Before all have come, and when one has ended, others have more than their usual.
            self.ended = bool(self._series) and len(uses) < len(pids)
            return
        processes = {**pids, "daemon": self._node.daemon.pid}
        all_counts = {name: swap_node.counts_of(pid) for name, pid in processes.items()}
        if not all(all_counts.values()):
            return
        self._next_s += self._options.every
        words = [f"{status['gpus'][0]['switches']} switches"]
        for name, counts in all_counts.items():
            for what, number in counts.items():
                self._series[f"{name} {what}"].append(number)
            words.append(f"{name} {'/'.join(map(str, counts.values()))}")
        for key in ("resident_bytes", "host_bytes"):
            numbers = [uses[name][key] for name in pids]
            words.append(f"{key.split('_')[0]} {'+'.join(map(swap_figures.mib, numbers))} MiB")
        for name in pids:
            self._series[f"{name} host_bytes"].append(uses[name]["host_bytes"])
        # One has what the other has not, so only the sum is the same in each sample. What the card
        # holds beside it would show memory that was let go of and is still there.
        resident = sum(uses[name]["resident_bytes"] for name in pids)
        self._series["both resident_bytes"].append(resident)
        other = status["gpus"][0].get("other_bytes", 0)
        self._series["the card other_bytes"].append(other)
        words.append(f"others {swap_figures.mib(other)} MiB")
        self._table.add(f"soak, {self._node.seconds():.0f} s", ", ".join(words))

    def judge(self):
        complaints = swap_figures.growth(self._series)
        samples = max(map(len, self._series.values()), default=0)
        figure = "; ".join(complaints) or f"nothing, in {samples} samples"
        self._table.judge(
            "soak, what grew", figure, "nothing, 3 samples", not complaints and samples >= 3
        )


def soak(options, table):
    table.add("soak, in each row", "descriptors/mappings/anonymous KiB of each process")
    seconds = options.soak_seconds
    with swap_node.Node(options, 4) as node:
        for number in range(2):
            node.start_add(f"t{number}", "3G", seconds)
        watch = Soak(node, options, table)
        node.until_ended(seconds + END_S, watch.sample)
        watch.judge()
        turns = sum(map(len, node.outs().values()))
        wanted = options.soak_turns
        table.judge("soak, changes of turn", str(turns), f">= {wanted}", turns >= wanted)
        report(node, table, "soak")


def report(node, table, part):
    """The last words of each workload, which are its verdict on its data."""
    for child in node.children:
        good = not child.cut and swap_figures.passed(child.process.returncode, child.text())
        words = child.trouble() or swap_figures.last_line(child.text())
        table.judge(f"{part}, data of {child.name}", words, "PASS", good)


def first(options, table):
    with swap_node.Node(options, 16, turn=FIRST_TURN) as node:
        node.start_add("a", "12G", FIRST_SECONDS[0])
        node.until(lambda: False, FIRST_APART[0])
        node.start_add("b", "1G", FIRST_SECONDS[1])
        node.until(lambda: False, FIRST_APART[1])
        node.start_add("c", "12G", FIRST_SECONDS[2])
        node.until_ended(max(FIRST_SECONDS) + END_S)
        outs = node.outs()
        began = min((swaps[0][0] for swaps in outs.values()), default=0)
        for name, swaps in sorted(outs.items()):
            for start, took in swaps:
                when = (start - began) / 1e3
                table.add(f"first, {name}, swap-out at {when:.1f} s", f"{took:.0f} ms")
        ratios = swap_figures.first_to_later(outs)
        if ratios is None:
            table.judge("first, swap-outs", "none later than a first one", "some", False)
        for name, ratio in sorted((ratios or {}).items()):
            table.judge(
                f"first, {name}, its first one over later ones",
                f"{ratio:.2f}",
                f"<= {FIRST_MAX:g}",
                ratio <= FIRST_MAX,
            )
        report(node, table, "first")
