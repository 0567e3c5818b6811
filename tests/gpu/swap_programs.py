# SPDX-License-Identifier: Apache-2.0
"""The parts of swap.py that run PyTorch, JAX and CuPy where not all of it fits."""

import pathlib
import subprocess

import swap_figures
import swap_node
import swap_workloads

PROGRAMS = pathlib.Path(__file__).with_name("programs")
PAIRS = (("eager", "graph"), ("compile", "compile"))
SWAPS_MIN = 20
# What loading a framework, compiling and the end may take.
LOAD_S = 120
# The slowest that train.py may be where two of them share: steps a second.
STEPS_MIN = 4
ALLOCATORS = {
    "torch cudaMallocAsync": "backend:cudaMallocAsync",
    "torch expandable_segments": "expandable_segments:True",
}
ALLOCATOR_STEPS = 150
CUPY_SUMS = 1500
CUPY_S = 60
JAX_S = 20
# Its memory is there when it has this much, and then the other tenant may come.
JAX_TAKEN = 1 << 30
JAX_TAKES_S = 6
JAX_BESIDE_S = 14
# Beside this most of what JAX touches cannot stay: three matrices of 1 GiB of all that it takes,
# and what its libraries need.
JAX_BESIDE = "20G"
JAX_TOUCHED = 3 << 30
JAX_COPIED_MAX = 2 * JAX_TOUCHED


def has(options, module):
    """Whether the Python of the programs has it; if not, that is said."""
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)"
    return subprocess.run([options.python, "-c", code], check=False, timeout=LOAD_S).returncode == 0


def needs(options, table, part, module):
    if has(options, module):
        return True
    table.add(part, f"skipped: {options.python} has no {module}")
    return False


def training(options, mode, steps):
    return [options.python, options.programs / "train.py", mode, steps]


def bare(options, runs, limit_s):
    """The output of programs without nvshare, all at once: name to (command, environment)."""
    with swap_node.Node(options) as node:
        for name, (command, extra) in runs.items():
            node.start(name, command, **extra)
        node.until_ended(limit_s)
        return {child.name: child.trouble() or child.text() for child in node.children}


def compare(table, what, truth, child):
    """A row about one run: whether its result is the one of the bare run."""
    text = child.text()
    good = not child.trouble() and swap_figures.same_result(truth, text)
    words = child.trouble() or swap_figures.last_line(text)
    table.judge(what, words, "as bare", good)


def train(options, table):
    if not needs(options, table, "train", "torch"):
        return
    limit_s = LOAD_S + options.steps / STEPS_MIN
    modes = {mode: (training(options, mode, options.steps), {}) for pair in PAIRS for mode in pair}
    truth = bare(options, modes, limit_s)
    for mode, text in truth.items():
        table.add(f"train, bare {mode}", swap_figures.last_line(text))
    for pair in PAIRS:
        with swap_node.Node(options, 7) as node:
            for number, mode in enumerate(pair, 1):
                node.start(f"{mode} {number}", modes[mode][0])
            node.until_ended(limit_s)
            for child, mode in zip(node.children, pair, strict=True):
                compare(table, f"train, {child.name}", truth[mode], child)
            count_swaps(table, f"train, {'+'.join(pair)}", node, SWAPS_MIN)


def count_swaps(table, what, node, wanted):
    counts = {child.name: 0 for child in node.children}
    counts |= {name: len(swaps) for name, swaps in node.outs().items()}
    total = sum(counts.values())
    words = f"{total} ({', '.join(f'{name}: {count}' for name, count in counts.items())})"
    table.judge(f"{what}, swap-outs", words, f">= {wanted}", total >= wanted)


def allocators(options, table):
    if needs(options, table, "allocators, torch", "torch"):
        command = training(options, "eager", ALLOCATOR_STEPS)
        for name, setting in ALLOCATORS.items():
            extra = {"PYTORCH_CUDA_ALLOC_CONF": setting}
            limit_s = LOAD_S + ALLOCATOR_STEPS / STEPS_MIN
            twice(options, table, f"allocators, {name}", 7, (command, extra), limit_s)
    if needs(options, table, "allocators, CuPy", "cupy"):
        command = [options.python, PROGRAMS / "cupy_async_pool.py", CUPY_SUMS]
        twice(options, table, "allocators, CuPy async pool", 14, (command, {}), LOAD_S + CUPY_S)


def twice(options, table, what, memory_gib, run, limit_s):
    """A program bare, and then two of it on memory that has not room for both."""
    truth = bare(options, {"bare": run}, limit_s)["bare"]
    table.add(f"{what}, bare", swap_figures.last_line(truth))
    command, extra = run
    with swap_node.Node(options, memory_gib) as node:
        for number in (1, 2):
            node.start(str(number), command, **extra)
        node.until_ended(limit_s)
        for child in node.children:
            compare(table, f"{what}, {child.name}", truth, child)
        count_swaps(table, what, node, 1)


def jax(options, table):
    if not needs(options, table, "jax", "jax"):
        return
    with swap_node.Node(options, 24, turn="2s") as node:
        seen = {}

        def note():
            # What it has before it ends: a tenant that has gone has nothing.
            seen.update(node.look()["uses"].get("JAX", {}))

        program = [options.python, PROGRAMS / "jax_prealloc.py", JAX_S]
        tenant = node.start("JAX", program)
        node.until(lambda: seen or not tenant.runs(), LOAD_S, note)
        node.until(lambda: seen.get("memory_bytes", 0) >= JAX_TAKEN, JAX_TAKES_S, note)
        beside = node.start_add("add", JAX_BESIDE, JAX_BESIDE_S)
        node.until_ended(LOAD_S + JAX_S, note)
        for key in ("memory_bytes", "copied_out_bytes", "copied_in_bytes"):
            table.add(f"jax, {key}", f"{swap_figures.mib(seen.get(key, 0))} MiB")
        outs = len(node.outs().get("JAX", []))
        each = seen.get("copied_out_bytes", 0) // max(outs, 1)
        table.judge(
            "jax, copied out each time",
            f"{swap_figures.mib(each)} MiB, {outs} times",
            f"{swap_figures.mib(JAX_TOUCHED)} touched, at most twice that",
            outs > 0 and 0 < each <= JAX_COPIED_MAX,
        )
        words = tenant.trouble() or swap_figures.last_line(tenant.text())
        table.judge(f"jax, beside {JAX_BESIDE}", words, "right", words.endswith("right"))
        node.children = [beside]
        swap_workloads.report(node, table, "jax")
