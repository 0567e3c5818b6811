#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what a release of `kubectl nvshare` puts up for krew: the archive, and a manifest that has
its sum and says where it will be. The same sources make the same bytes.

usage: tools/make_krew.py URL [--homepage URL] [--folder DIR]
  URL is of the folder that the archive is put into; DIR is build/krew if nothing is said.
"""

import argparse
import gzip
import hashlib
import io
import pathlib
import re
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "deploy/kubectl/krew.yaml.in"
FILES = {"kubectl-nvshare": (ROOT / "deploy/kubectl/kubectl-nvshare", 0o755),
         "LICENSE": (ROOT / "LICENSE", 0o644)}
ADDRESS = re.compile(r"https://[!-~]+")


def address(text):
    """An argument that krew can fetch from, and YAML needs no quotes for."""
    if not ADDRESS.fullmatch(text) or "#" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no address such as https://example.com/dir")
    return text.rstrip("/")


def version():
    project = (ROOT / "CMakeLists.txt").read_text("utf-8")
    return re.search(r"project\(nvshare VERSION (\S+)", project).group(1)


def archive():
    """The bytes, which depend on the files alone: not on who makes it, nor when."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as squeezed:
        with tarfile.open(fileobj=squeezed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, (path, mode) in sorted(FILES.items()):
                content = path.read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), mode
                tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def main():
    parser = argparse.ArgumentParser(description="Makes the archive and the manifest for krew.")
    parser.add_argument("url", type=address, help="of the folder that the archive is put into")
    parser.add_argument("--homepage", type=address, help="of the project; the same if not given")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/krew")
    given = parser.parse_args()
    name = f"kubectl-nvshare-{version()}.tar.gz"
    content = archive()
    values = {
        "VERSION": f"v{version()}",
        "HOMEPAGE": given.homepage or given.url,
        "URI": f"{given.url}/{name}",
        "SHA256": hashlib.sha256(content).hexdigest(),
    }
    text = TEMPLATE.read_text("utf-8").replace(
        "without what a release decides: make krew fills that in", "written by make krew"
    )
    manifest = re.sub(r"@([A-Z0-9]+)@", lambda match: values[match.group(1)], text)
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / name).write_bytes(content)
    (given.folder / "nvshare.yaml").write_text(manifest, "utf-8")
    print(f"{given.folder / name}\n{given.folder / 'nvshare.yaml'}")


if __name__ == "__main__":
    main()
