# SPDX-License-Identifier: Apache-2.0
"""Procedures: client operations that are written once for threads and for asyncio.

A procedure is a generator that yields functions without arguments. The runner calls each function
(asyncio: awaits its result) and sends the result into the procedure, or throws the exception into
it. The return value of the procedure is the result.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Generator, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

R = TypeVar("R")
Procedure = Generator[Callable[[], Any], Any, R]


def run(procedure: Procedure[R]) -> R:
    """Runs a procedure on this thread."""
    resume, value = procedure.send, None
    try:
        while True:
            step = resume(value)
            try:
                resume, value = procedure.send, step()
            except BaseException as error:
                resume, value = procedure.throw, error
    except StopIteration as done:
        return done.value
    finally:
        del value  # breaks the reference cycle of an exception and this frame


async def run_async(procedure: Procedure[R]) -> R:
    """Runs a procedure in this task."""
    resume, value = procedure.send, None
    try:
        while True:
            step = resume(value)
            try:
                resume, value = procedure.send, await step()
            except BaseException as error:
                resume, value = procedure.throw, error
    except StopIteration as done:
        return done.value
    finally:
        del value


def blocking(procedure: Callable[Concatenate[Any, P], Procedure[R]]
             ) -> Callable[Concatenate[Any, P], R]:
    """The method that waits until the procedure has ended."""
    def method(*arguments: Any, **named: Any) -> Any:
        return run(procedure(*arguments, **named))

    return _described_by(procedure, method)


def awaitable(procedure: Callable[Concatenate[Any, P], Procedure[R]]
              ) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """The method that is awaited."""
    async def method(*arguments: Any, **named: Any) -> Any:
        return await run_async(procedure(*arguments, **named))

    return _described_by(procedure, method)


def _described_by(procedure: Any, method: Any) -> Any:
    """The method with the name, the docstring and the signature of the procedure."""
    signature = inspect.signature(procedure)
    result = signature.return_annotation[len("Procedure["):-1]
    functools.update_wrapper(method, procedure)
    method.__signature__ = signature.replace(return_annotation=result)
    return method
