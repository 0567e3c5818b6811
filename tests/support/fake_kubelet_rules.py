# SPDX-License-Identifier: Apache-2.0
"""Which names of resources a kubelet takes: IsExtendedResourceName of its source."""

import re

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DOMAIN = re.compile(rf"{LABEL}(\.{LABEL})*")
NAME = re.compile("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
DOMAIN_MAX, NAME_MAX = 253, 63
QUOTA = "requests."  # in front of the name where quotas are


def is_extended_resource(name):
    if "/" not in name or "kubernetes.io/" in name or name.startswith(QUOTA):
        return False
    # It must be a qualified name for quotas too.
    domain, _, rest = (QUOTA + name).partition("/")
    is_domain = len(domain) <= DOMAIN_MAX and DOMAIN.fullmatch(domain)
    return bool(is_domain and len(rest) <= NAME_MAX and NAME.fullmatch(rest))
