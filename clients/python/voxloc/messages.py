# SPDX-License-Identifier: Apache-2.0
"""The messages and the values of the enums of voxloc.v1, by their names in proto/voxloc/v1.

    options = messages.AlignmentOptions(profile="precise")
    options.overrides.max_iterations.value = 20
    options.covariance.method = messages.COVARIANCE_METHOD_FIXED
"""

from __future__ import annotations

from typing import Any, List

from voxloc._contract import CONTRACT

_PACKAGE = "voxloc.v1."


def __getattr__(name: str) -> Any:
    for found in (CONTRACT.messages, CONTRACT.enum_values):
        if _PACKAGE + name in found:
            return found[_PACKAGE + name]
    raise AttributeError(f"voxloc.v1 has no message and no enum value {name}")


def __dir__() -> List[str]:
    names = [*CONTRACT.messages, *CONTRACT.enum_values]
    return sorted(name[len(_PACKAGE):] for name in names if name.startswith(_PACKAGE))
