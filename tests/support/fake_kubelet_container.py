# SPDX-License-Identifier: Apache-2.0
"""What a container asks for, and what a kubelet makes it of, if several resources of it have
answered Allocate."""

import dataclasses


@dataclasses.dataclass
class Container:
    """One of a pod. The keys of `requests` are resources, with __ for / and _ for - after it."""

    name: str
    requests: dict
    kind: str = "app"  # "init", "sidecar" (an init container that is restarted) or "app"


def first_of_each(answers, pairs_of):
    """2.3: of what two say of one name, the first counts, and the other is logged."""
    kept = {}
    for answer in answers:
        for name, value in pairs_of(answer):
            kept.setdefault(name, value)
    return kept


def container_of(answers):
    """Variables, mounts by their place, and CDI devices. A kubelet asks in any order."""
    answers = list(answers)
    return (
        first_of_each(answers, lambda answer: answer.envs.items()),
        first_of_each(
            answers, lambda answer: ((one.container_path, one.host_path) for one in answer.mounts)
        ),
        [device.name for answer in answers for device in answer.cdi_devices],
    )
