# SPDX-License-Identifier: Apache-2.0
"""Checks of speed: tq.py bare and with the library by turns, with nothing else on the machine."""

import judging
from running import Kind

START_UP_S = 60  # what a process may need before and after its measurement


def rate(work, percent_min):
    def check(context):
        command = [context.python, context.programs / "tq.py", work, context.seconds]
        rates = {kind: [] for kind in Kind}
        seconds = {kind: 0.0 for kind in Kind}
        for turn in range(context.repeat):
            # Whoever comes first changes from turn to turn.
            for kind in list(Kind) if turn % 2 == 0 else list(Kind)[::-1]:
                name = f"tq_{work}_{turn + 1}"
                limit = context.seconds + START_UP_S
                outcome = context.runner.run(name, kind, command, limit)
                seconds[kind] += outcome.seconds
                value = judging.rate_of(outcome)
                if value is None:
                    return judging.Verdict(outcome.trouble() or ["no rate in what it printed"])
                rates[kind].append(value)
        bare, library = rates[Kind.BARE], rates[Kind.LIBRARY]
        complaints, remark = judging.compare_rates(bare, library, percent_min)
        lines = [f"{kind.value}: {' '.join(f'{x:.1f}' for x in rates[kind])}" for kind in Kind]
        return judging.Verdict(complaints, remark, *seconds.values(), lines)

    return check
