# SPDX-License-Identifier: Apache-2.0
"""Certificates for servers of tests, by openssl."""

import ssl
import subprocess


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


class Authority:
    """A CA of our own, with the certificates that it gave out, in a folder."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.key, self.certificate = str(folder / f"{name}.key"), folder / f"{name}.crt"
        request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        names = ["-subj", f"/CN={name}", "-keyout", self.key, "-out", str(self.certificate)]
        openssl(*request, "-nodes", "-days", "2", *names)

    def server(self, host):
        """What a server needs to be believed for this address, or name."""
        stem = f"{self.name}-{len(list(self.folder.iterdir()))}"
        key, ask, made = (str(self.folder / f"{stem}.{end}") for end in ("key", "csr", "crt"))
        new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl(*new, "-subj", "/CN=kube-apiserver", "-keyout", key, "-out", ask)
        names = self.folder / f"{stem}.names"
        names.write_text(f"subjectAltName={host}\n", "ascii")
        ca = ["-CA", str(self.certificate), "-CAkey", self.key, "-CAcreateserial"]
        openssl("x509", "-req", "-in", ask, *ca, "-days", "2", "-extfile", str(names), "-out", made)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made, key)
        return context
