# SPDX-License-Identifier: Apache-2.0
"""Courses: what a client does, written once for threads and for asyncio.

A course is a generator. It yields functions without arguments, one after another; each is called,
for asyncio what it returns is awaited, and the course is sent the result, or thrown what was raised.
What a course returns is the result of the whole.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Generator, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

R = TypeVar("R")
Course = Generator[Callable[[], Any], Any, R]


def run(course: Course[R]) -> R:
    """Takes a course to its end, on this thread."""
    resume, value = course.send, None
    try:
        while True:
            step = resume(value)
            try:
                resume, value = course.send, step()
            except BaseException as error:
                resume, value = course.throw, error
    except StopIteration as done:
        return done.value
    finally:
        del value  # an error and this frame would keep each other


async def run_async(course: Course[R]) -> R:
    """Takes a course to its end, in this task."""
    resume, value = course.send, None
    try:
        while True:
            step = resume(value)
            try:
                resume, value = course.send, await step()
            except BaseException as error:
                resume, value = course.throw, error
    except StopIteration as done:
        return done.value
    finally:
        del value


def blocking(course: Callable[Concatenate[Any, P], Course[R]]
             ) -> Callable[Concatenate[Any, P], R]:
    """The method that waits until the course has ended."""
    def method(*arguments: Any, **named: Any) -> Any:
        return run(course(*arguments, **named))

    return _described_by(course, method)


def awaitable(course: Callable[Concatenate[Any, P], Course[R]]
              ) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """The method that is awaited."""
    async def method(*arguments: Any, **named: Any) -> Any:
        return await run_async(course(*arguments, **named))

    return _described_by(course, method)


def _described_by(course: Any, method: Any) -> Any:
    """The method with the name, the docstring and the signature of the course."""
    signature = inspect.signature(course)
    result = signature.return_annotation[len("Course["):-1]
    functools.update_wrapper(method, course)
    method.__signature__ = signature.replace(return_annotation=result)
    return method
