# SPDX-License-Identifier: Apache-2.0
"""Checks of tools that look into CUDA programs: they work with the library as without it."""

import shutil

import judging
from running import Kind

BUILD_TIMEOUT_S = 60
TOOL_TIMEOUT_S = 60
KERNEL = "add_one"
NO_PERMISSION = "ERR_NVGPUCTRPERM"
FOUND_CODE = 9  # what compute-sanitizer is to end with if it found an error
RIGHT_SUM = "sum 64"


def find(name):
    """The path of a tool, or None."""
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def missing(name):
    return judging.Verdict([f"there is no {name} on this machine"])


def small_kernel(context):
    """Builds the small program for the tools; every check that needs it calls this first."""
    program = (context.out / "small_kernel").absolute()
    with context.build_lock:
        if not program.exists() and find("nvcc"):
            source = context.own_programs / "small_kernel.cu"
            command = [find("nvcc"), "-arch=native", "-lineinfo", "-o", program, source]
            context.runner.run("nvcc", Kind.BARE, command, BUILD_TIMEOUT_S)
    return program if program.exists() else None


def ncu(context):
    """Nsight Compute: a report about the kernel, or the same refusal as without the library."""
    program = small_kernel(context)
    if not program or not find("ncu"):
        return missing("ncu or nvcc")
    command = [find("ncu"), "--target-processes", "all", program]
    bare, library = context.runner.pair_in_turn("ncu", command, TOOL_TIMEOUT_S)
    complaints, remark = judge_profile(bare, library)
    return judging.verdict_of(bare, library, complaints, remark)


def judge_profile(bare, library):
    texts = [outcome.stdout + outcome.stderr for outcome in (bare, library)]
    complaints = library.trouble(bare.code)
    if RIGHT_SUM not in texts[1] and RIGHT_SUM in texts[0]:
        complaints.append("the program under it did not compute what it does bare")
    if NO_PERMISSION in texts[0] or bare.code != 0:
        errors = [line for line in texts[0].splitlines() if "==ERROR==" in line]
        reason = NO_PERMISSION if NO_PERMISSION in texts[0] else "it fails"
        if (NO_PERMISSION in texts[0]) != (NO_PERMISSION in texts[1]):
            complaints.append("it is refused in one of the two runs only")
        return complaints, f"bare too: {reason} {' '.join(errors[:1])}"[:100]
    for outcome, text in zip((bare, library), texts, strict=True):
        if KERNEL not in text or "Duration" not in text:
            complaints.append(f"{outcome.kind.value}: no report about {KERNEL}")
    return complaints, f"a report about {KERNEL}"


def sanitizer(argument, code, wanted):
    """compute-sanitizer: finds what there is to find, and nothing else."""

    def check(context):
        program = small_kernel(context)
        if not program or not find("compute-sanitizer"):
            return missing("compute-sanitizer or nvcc")
        command = [find("compute-sanitizer"), "--tool", "memcheck", "--error-exitcode", FOUND_CODE]
        command += [program, argument]
        name = f"sanitizer_{argument}"
        bare, library = context.runner.pair(name, command, TOOL_TIMEOUT_S)
        complaints = bare.trouble(code) + library.trouble(code)
        for outcome in (bare, library):
            if wanted not in outcome.stdout + outcome.stderr:
                complaints.append(f"{outcome.kind.value}: it does not say {wanted!r}")
        return judging.verdict_of(bare, library, complaints, wanted)

    return check


def nvidia_smi(name, *arguments):
    def check(context):
        if not find("nvidia-smi"):
            return missing("nvidia-smi")
        command = [find("nvidia-smi"), *arguments]
        bare, library = context.runner.pair_in_turn(name, command, TOOL_TIMEOUT_S)
        complaints = bare.trouble() + judging.same_but_volatile(bare, library)
        lines = len(bare.stdout.splitlines())
        return judging.verdict_of(bare, library, complaints, f"{lines} lines, numbers aside")

    return check


def nsys(context):
    """Nsight Systems is not on every machine; where it is, it ends as it does bare."""
    program = small_kernel(context)
    if not find("nsys") or not program:
        return judging.Verdict([], "left out: there is no nsys or no nvcc")
    command = [find("nsys"), "profile", "--trace=cuda", "--force-overwrite=true"]
    command += ["-o", context.out / "nsys_report", program]
    bare, library = context.runner.pair_in_turn("nsys", command, TOOL_TIMEOUT_S)
    complaints = library.trouble(bare.code)
    if (RIGHT_SUM in bare.stdout) != (RIGHT_SUM in library.stdout):
        complaints.append("the program under it did not compute what it does bare")
    return judging.verdict_of(bare, library, complaints, f"ends with {bare.code}")
