# SPDX-License-Identifier: Apache-2.0
"""The daemon's metrics as Prometheus reads them: over HTTP, in its text format 0.0.4."""

import http.client
import re

_SAMPLE = re.compile(r'([a-z_]+)(?:\{(.*)\})? (\d+(?:\.\d+)?(?:e[+-]\d+)?)')
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_ESCAPES = {r"\"": '"', r"\\": "\\", r"\n": "\n"}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def labels_of(text):
    labels, at = {}, 0
    while at < len(text):
        found = _LABEL.match(text, at)
        assert found, f"no label: {text[at:]!r}"
        assert found[1] not in labels, f"{found[1]} twice: {text!r}"
        labels[found[1]] = re.sub(r"\\.", lambda escape: _ESCAPES[escape[0]], found[2])
        at = found.end()
    return labels


class Samples:
    """What a text says; one that is not as it should be is an AssertionError."""

    def __init__(self, text):
        self.types, self.samples, name = {}, [], None
        assert text.endswith("\n")
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                assert name not in self.types, f"{name} twice"
                assert line.split(" ", 3)[3], f"{name} means nothing"
            elif line.startswith("# TYPE "):
                assert line.split(" ")[2] == name, f"{line!r} after the help of {name}"
                self.types[name] = line.split(" ")[3]
                assert self.types[name] in ("counter", "gauge"), line
            else:
                found = _SAMPLE.fullmatch(line)
                assert found and found[1] == name, f"{line!r} among those of {name}"
                sample = (name, labels_of(found[2] or ""))
                assert sample not in [one[:2] for one in self.samples[-50:]], f"{sample} twice"
                self.samples.append((*sample, float(found[3])))

    def all(self, name, **labels):
        """The samples of that name with these labels: (labels, value)."""
        return [
            (own, value)
            for one, own, value in self.samples
            if one == name and labels.items() <= own.items()
        ]

    def value(self, name, **labels):
        """Of the only one; None if there is none."""
        found = self.all(name, **labels)
        assert len(found) <= 1, found
        return found[0][1] if found else None


def get(port, path, method="GET", host="127.0.0.1", timeout=60):
    """Status, headers and body of the answer."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def scrape(port):
    status, headers, body = get(port, "/metrics")
    assert (status, headers["Content-Type"]) == (200, CONTENT_TYPE), (status, headers)
    return Samples(body.decode("utf-8"))
