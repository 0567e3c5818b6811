#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts example jobs side by side in a cluster, waits for them, and prints who passed, where, and
how fast. Exit codes: 0 all passed; 1 one did not, or kubectl failed; 2 a wrong command line."""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"
IMAGE = re.compile(r"(?m)^(\s+image: ).*$")
ARGS = re.compile(r"(?m)^(\s+args: \[)(.*)\]$")
RESOURCE = re.compile(r"nvshare\.com/gpu: 1")
POD = re.compile(r"(?m)^(\s+)restartPolicy: ")
# What nvshare-workload prints.
WHERE = re.compile(r" on GPU \d+ \(.*?, ((?:GPU|MIG)-[0-9a-f-]+)")
RESULT = re.compile(r": (PASS|FAIL)  ([\d.]+) s  \d+ iterations  ([\d.]+) it/s")
UUID_SHOWN = len("GPU-12345678")


class Failure(Exception):
    """kubectl did not do what it was asked to."""


class Result(NamedTuple):
    """Of one job."""

    name: str
    node: str
    gpu: str
    is_pass: bool
    seconds: float
    rate: float
    message: str


class Kubectl:
    def __init__(self, options):
        self.flags = []
        for name in ("namespace", "context", "kubeconfig"):
            if getattr(options, name):
                self.flags += [f"--{name}", getattr(options, name)]

    def run(self, *words, text=""):
        command = [os.environ.get("KUBECTL", "kubectl"), *words, *self.flags]
        try:
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        except OSError as error:
            raise Failure(f"kubectl cannot be started: {error.strerror}") from None
        if done.returncode != 0:
            raise Failure(f"kubectl {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *words):
        """A list, although kubectl says one thing alone as itself and none as nothing."""
        text = self.run("get", *words, "-o", "json", "--ignore-not-found")
        answer = json.loads(text) if text.strip() else {"items": []}
        return answer.get("items", [answer])


def manifest_of(name, options):
    """The job of that name, with what the command line changes."""
    text = (JOBS / f"{name}.yaml").read_text("utf-8")
    if options.image:
        text = IMAGE.sub(rf"\g<1>{options.image}", text)
    more = "".join(f", {json.dumps(word)}" for word in options.workload_args)
    text = ARGS.sub(rf"\g<1>\g<2>{more}]", text)
    if options.runtime_class:
        text = POD.sub(rf"\g<1>runtimeClassName: {options.runtime_class}\n\g<0>", text)
    return RESOURCE.sub(f"{options.resource}: 1", text)


def condition_of(job):
    """Complete or Failed; None while it runs."""
    for condition in job["status"].get("conditions", []):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return condition["type"]
    return None


def wait(kubectl, names, options):
    """Until all have ended or the time is over: the condition of each."""
    deadline = time.monotonic() + options.timeout
    while True:
        jobs = kubectl.get("jobs", *names)
        conditions = {job["metadata"]["name"]: condition_of(job) for job in jobs}
        ended = sum(1 for name in names if conditions.get(name))
        print(f"\r{ended} of {len(names)} have ended", end="", file=sys.stderr, flush=True)
        if ended == len(names) or time.monotonic() >= deadline:
            print(file=sys.stderr)
            return conditions
        time.sleep(options.poll)


def reason_of(pod):
    """Why a pod's container, or the pod itself, did not do its work."""
    status = pod.get("status", {})
    for container in status.get("containerStatuses", []):
        for state in container.get("state", {}).values():
            if state.get("reason", "Completed") not in ("Completed", "Error"):
                return f"{state['reason']} {state.get('message', '')}".strip()
    return f"{status.get('reason', '')} {status.get('message', '')}".strip()


def result_of(kubectl, name, pod, condition):
    node = pod.get("spec", {}).get("nodeName", "-")
    try:
        log = kubectl.run("logs", f"job/{name}") if pod else ""
    except Failure as failure:
        log = str(failure)
    where, result = WHERE.search(log), RESULT.search(log)
    gpu = where.group(1)[:UUID_SHOWN] if where else "-"
    # The sentence of a failure, else the last words.
    lines = re.findall(r": FAIL: (.*)", log) or [one for one in log.split("\n") if one.strip()]
    if condition == "Complete" and result and result.group(1) == "PASS":
        return Result(name, node, gpu, True, float(result.group(2)), float(result.group(3)), "")
    message = reason_of(pod) or (lines[-1] if lines else "it printed nothing")
    if condition is None:
        message = f"it has not ended: {message}"
    seconds, rate = (float(result.group(2)), float(result.group(3))) if result else (0.0, 0.0)
    return Result(name, node, gpu, False, seconds, rate, message)


def table(results):
    """As nvshare-demo prints it, with the node; only what passed is summed up."""
    rows = []
    for one in results:
        verdict = "PASS" if one.is_pass else "FAIL"
        rows.append([one.name, one.node, one.gpu, verdict, f"{one.seconds:.1f}", f"{one.rate:.1f}"])
    passed = [one for one in results if one.is_pass]
    for label, function in (("min", min), ("max", max), ("average", statistics.fmean)):
        numbers = [[one.seconds for one in passed], [one.rate for one in passed]]
        cells = [f"{function(column):.1f}" if column else "-" for column in numbers]
        rows.append([label, "", "", "", *cells])
    titles = ["tenant", "node", "GPU", "result", "seconds", "it/s"]
    widths = [max(map(len, column)) for column in zip(titles, *rows)]

    def line(cells):
        texts = [cell.ljust(width) for cell, width in zip(cells[:4], widths)]
        texts += [cell.rjust(width) for cell, width in zip(cells[4:], widths[4:])]
        return "  ".join(texts).rstrip()

    rule = ["-" * width for width in widths]
    return "\n".join(map(line, [titles, rule, *rows[:-3], rule, *rows[-3:]]))


def parse_job(word):
    name, _, count = word.partition("=")
    names = sorted(path.stem for path in JOBS.glob("*.yaml"))
    if name not in names:
        raise argparse.ArgumentTypeError(f"no job '{name}': use {', '.join(names)}")
    if not (count or "1").isdigit() or int(count or 1) < 1:
        raise argparse.ArgumentTypeError(f"'{word}': a number of jobs is missing, as in add=4")
    return [name] * int(count or 1)


def parse(words):
    rest = words[words.index("--") + 1 :] if "--" in words else []
    own = words[: words.index("--")] if "--" in words else words
    epilog = "What follows -- is for nvshare-workload."
    parser = argparse.ArgumentParser(description=__doc__, epilog=epilog)
    parser.add_argument("jobs", nargs="+", type=parse_job, metavar="NAME[=COUNT]")
    parser.add_argument("-n", "--namespace")
    parser.add_argument("--context")
    parser.add_argument("--kubeconfig")
    parser.add_argument("--image", help="of nvshare-workload, as the nodes can pull it")
    parser.add_argument("--resource", default="nvshare.com/gpu", help="what a pod asks one of")
    parser.add_argument("--runtime-class", metavar="NAME", help="nvidia, if it is not the default")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS", help="(1800)")
    parser.add_argument("--poll", type=float, default=2, metavar="SECONDS", help="(2)")
    parser.add_argument("--keep", action="store_true", help="do not delete the jobs at the end")
    options = parser.parse_args(own)
    options.jobs = sum(options.jobs, [])
    options.workload_args = rest
    return options


def run(kubectl, options, names):
    """Starts, waits and prints. `names` gets those of the jobs as they are made."""
    for job in options.jobs:
        made = kubectl.run("create", "-f", "-", "-o", "name", text=manifest_of(job, options))
        names.append(made.strip().rpartition("/")[2])
    conditions = wait(kubectl, names, options)
    pods = kubectl.get("pods", "--selector", f"job-name in ({','.join(names)})")
    pods = {pod["metadata"]["labels"]["job-name"]: pod for pod in pods}
    results = [
        result_of(kubectl, name, pods.get(name, {}), conditions.get(name)) for name in names
    ]
    print(table(results))
    for one in results:
        if not one.is_pass:
            print(f"{one.name} failed: {one.message}")
    return 0 if all(one.is_pass for one in results) else 1


def main(words):
    options = parse(words)
    kubectl, names = Kubectl(options), []
    try:
        return run(kubectl, options, names)
    except Failure as failure:
        print(f"run_jobs: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if names and not options.keep:
            try:
                kubectl.run("delete", "jobs", *names, "--wait=false")
            except Failure as failure:
                print(f"run_jobs: {failure}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
