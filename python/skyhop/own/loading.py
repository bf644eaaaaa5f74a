"""Makes controls from the source that a scenario holds."""

from __future__ import annotations

import hashlib
import linecache
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from skyhop.own.control import CongestionControl

if TYPE_CHECKING:
    from skyhop._core import Start

#: The methods that the engine calls, in its order (`crates/python/src/own.rs`).
METHODS = (
    "on_ack", "on_measured", "on_congestion", "on_recovered", "on_lost", "on_sent", "on_handover", "set_cwnd",
)  # fmt: skip

#: Modules by name and fingerprint of their source: runs of one process may have different versions of one module.
_modules: dict[tuple[str, str], ModuleType] = {}
_lock = threading.RLock()


def make(class_name: str, source: str, start: Start) -> tuple[CongestionControl, list[Callable[..., Any] | None]]:
    """A control at the start of a connection, and its methods; a method that does nothing is None.

    `class_name` is "module:Class", `source` the text of the module.

    Raises whatever the module or the class raises, and TypeError for a class that is not a CongestionControl.
    """
    module_name, name = class_name.split(":")
    module = _module(module_name, source)
    found = getattr(module, name, None)
    if found is None:
        raise AttributeError(f"{module_name}.py has no class {name}")
    if not (isinstance(found, type) and issubclass(found, CongestionControl)):
        raise TypeError(f"{name} in {module_name}.py is not a class derived from skyhop.CongestionControl")
    control = found(start)
    for attribute in ("cwnd", "ssthresh"):
        if not hasattr(control, attribute):
            raise TypeError(f"{name} has no {attribute}: its __init__ must call super().__init__(start)")
    return control, [_method(control, method) for method in METHODS]


def _method(control: CongestionControl, name: str) -> Callable[..., Any] | None:
    """The method, unless it is one of those of the base class that do nothing."""
    own = getattr(type(control), name) is not getattr(CongestionControl, name)
    method: Callable[..., Any] = getattr(control, name)
    return method if own or name in ("on_ack", "on_congestion", "set_cwnd") else None


def _module(name: str, source: str) -> ModuleType:
    """The module of that source, run once in this process."""
    key = (name, hashlib.sha256(source.encode("utf-8")).hexdigest())
    with _lock:
        if key in _modules:
            return _modules[key]
        # Not under its plain name: a module of that name may be installed, or may be another version.
        unique = f"skyhop.own._{name.replace('.', '_')}_{key[1][:12]}"
        label = f"{name.replace('.', '/')}.py"
        file = f"<{label} of the scenario>"
        module = ModuleType(unique)
        module.__file__ = file
        # So that tracebacks show the lines.
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        # Dataclasses and pickles look their module up.
        sys.modules[unique] = module
        try:
            exec(compile(source, file, "exec"), module.__dict__)
        except BaseException:
            del sys.modules[unique]
            raise
        _modules[key] = module
        return module
