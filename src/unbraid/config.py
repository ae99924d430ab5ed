"""The constructor is the configuration: an object remembers the arguments that it was built with."""

from __future__ import annotations

import inspect
from typing import Any, Self


class Configured:
    """Keeps the resolved keyword arguments of the constructor, defaults included, in `arguments`."""

    arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        signature = inspect.signature(cls.__init__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        keywords = [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        object.__setattr__(self, "arguments", {name: bound.arguments[name] for name in keywords})
        return self
