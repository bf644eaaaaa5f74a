"""Prints web/src/generated/tables.ts: the tables of a run folder and the types of their columns.

python web/tools/tables.py > web/src/generated/tables.ts
"""

from __future__ import annotations

import skyhop

_TYPES = {"Float64": "Real", "Int64": "Count", "String": "Text", "Boolean": "Flag"}

_SMALLEST = """
duration = "1 ms"
[[links]]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "1 ms"
"""


def text() -> str:
    """The file."""
    run = skyhop.run(_SMALLEST)
    lines = [
        "// Written by web/tools/tables.py from the engine's tables. Do not edit.",
        'import type { Count, Flag, Real, Text } from "../data/columns";',
        "",
        "/** The tables of a run folder, column by column; units stand in the names. */",
        "export interface Tables {",
    ]
    for name in run.table_names:
        lines.append(f"  {name}: {{")
        lines += [f"    {column}: {_TYPES[str(kind)]};" for column, kind in run.table(name).schema.items()]
        lines.append("  };")
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    print(text(), end="")
