"""Reading of the files that define studies and sweeps: TOML tables that know where they stand."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

from skyhop.verdict import DefinitionError


def parse_toml(text: str) -> dict[str, Any]:
    """The text as nested dicts; raises DefinitionError."""
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DefinitionError(str(error)) from None
    except RecursionError:
        raise DefinitionError("is nested too deep") from None
    return data


def read_toml(path: Path) -> dict[str, Any]:
    """The file as nested dicts."""
    try:
        # Some devices have no end, and a pipe waits for whoever writes into it.
        if path.exists() and not path.is_file():
            raise DefinitionError("is not a file")
        return parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DefinitionError(f"{path}: is missing") from None
    except (DefinitionError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path}: {error}") from None


_REQUIRED: Any = object()


class Table:
    """A TOML table that knows where it stands and which of its keys nobody asked for."""

    def __init__(self, file: Path, data: Mapping[str, Any], place: str = "") -> None:
        self.file = file
        self._data = data
        self._place = place
        self._asked: set[str] = set()

    def error(self, key: str, what: str) -> DefinitionError:
        """The error about a key, to be raised."""
        return DefinitionError(f"{self.file}: {self._path(key)}: {what}")

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        """The value of a key, which is of that kind."""
        self._asked.add(key)
        if key not in self._data:
            if default is _REQUIRED:
                raise self.error(key, "is missing")
            return default
        value = self._data[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
            raise self.error(key, f"is a {kind.__name__}, not {value!r}")
        return value

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        """The text of a key."""
        return str(self.take(key, str, default))

    def number(self, key: str, default: Any = _REQUIRED) -> float:
        """The number of a key."""
        value = self.take(key, object, default)
        if key not in self._data:
            return float(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(key, f"is a number, not {value!r}")
        return float(value)

    def table(self, key: str) -> Table | None:
        """The table of a key, if it is there."""
        data = self.take(key, Mapping, None)
        return None if data is None else Table(self.file, data, self._path(key))

    def tables(self, key: str) -> list[tuple[str, Table]]:
        """The named tables below a key."""
        data = self.take(key, Mapping, {})
        for name, entry in data.items():
            if not isinstance(entry, Mapping):
                raise self.error(f"{key}.{name}", "is a table")
        return [(name, Table(self.file, entry, self._path(f"{key}.{name}"))) for name, entry in data.items()]

    def items(self, key: str) -> list[Table]:
        """The list of tables below a key."""
        data = self.take(key, list, [])
        if wrong := [one for one in data if not isinstance(one, Mapping)]:
            raise self.error(key, f"is a list of tables, and holds {wrong[0]!r}")
        return [Table(self.file, entry, self._path(f"{key}[{number}]")) for number, entry in enumerate(data)]

    @property
    def keys(self) -> list[str]:
        """In the order of the file."""
        return list(self._data)

    def texts(self, key: str, default: Any = _REQUIRED) -> list[str]:
        """The text of a key, or its list of texts, as a list; numbers are taken by their text."""
        value = self.take(key, object, default)
        values = value if isinstance(value, list) else [value]
        if not values or any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
            raise self.error(key, f"is a text or a list of texts, not {value!r}")
        return [str(one) for one in values]

    def finish(self) -> None:
        """Raises for a key that has no meaning here."""
        if unknown := sorted(set(self._data) - self._asked):
            known = ", ".join(sorted(self._asked))
            raise self.error(unknown[0], f"has no meaning here; known are {known}")

    def _path(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key
