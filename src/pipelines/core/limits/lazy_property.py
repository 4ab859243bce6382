"""A value that is computed when it is first read, and then kept, without a lock.

`functools.cached_property` of Python 3.11 holds one lock per class while it computes, for all instances and
all threads: one org's long reading would keep every other org waiting. Here two threads that read the same
instance at the same time may both compute the value. The first that is stored is what both get.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, cast, overload

T = TypeVar("T")


class lazy_property(Generic[T]):
    """For methods without side effects, of classes without slots.

    >>> class Text:
    ...     @lazy_property
    ...     def words(self) -> list[str]:
    ...         return "one two".split()
    >>> Text().words
    ['one', 'two']
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> T | Self:
        """Python comes here only while the instance's dictionary does not have the name."""
        if instance is None:
            return self
        return cast(T, vars(instance).setdefault(self._name, self._compute(instance)))
