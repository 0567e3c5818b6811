#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a Helm chart renders to, in the manner of `helm template`."""

import argparse
import functools
import pathlib
import sys

import chart
from template_text import TemplateError


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chart", help="the folder of the chart")
    parser.add_argument("--values", "-f", action="append", default=[], help="a file of values")
    parser.add_argument("--set", action="append", default=[], help="one value: a.b=1")
    parser.add_argument("--namespace", "-n", default="nvshare-system")
    parser.add_argument("--name", default="nvshare", help="of the release")
    parser.add_argument("--api-versions", action="append", default=[], help="that the server has")
    parser.add_argument("--notes", action="store_true", help="print NOTES.txt alone")
    return parser.parse_args(words)


def main(words):
    arguments = arguments_of(words)
    layers = [chart.load_yaml(pathlib.Path(one).read_text("utf-8")) for one in arguments.values]
    layers += map(chart.setting, arguments.set)
    values = functools.reduce(chart.merged, filter(None, layers), {})
    try:
        texts = chart.Chart(arguments.chart).render(
            values, arguments.api_versions, Name=arguments.name, Namespace=arguments.namespace
        )
    except TemplateError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name, text in texts.items():
        if (name == chart.NOTES) == arguments.notes and text.strip():
            print(text.strip() if arguments.notes else f"---\n# Source: {name}\n{text.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
