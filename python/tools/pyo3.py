"""Tells pyo3 for which Python it is built, in the same words for the module and for Rust's tests.

maturin describes the interpreter to pyo3 in a file of its own, and cargo without maturin asks the interpreter. pyo3 and
the module were compiled again whenever the one followed the other, in `make test` each time. `python pyo3.py` writes
the description that maturin would write and prints the variables that name it, for the Makefile; maturin takes a
description that is given.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "target" / "pyo3.txt"

#: The feature `abi3-py310` of pyo3 (Cargo.toml): one module for each CPython from 3.10 on.
DESCRIPTION = """\
implementation=CPython
version=3.10
target_abi=CPython-abi3-3.10
shared=true
build_flags=
suppress_build_script_link_lines=false
"""


def variables() -> dict[str, str]:
    """Variables for maturin and cargo; none where the module is not built for the stable interface of CPython.

    None outside Linux, either: linkers elsewhere want flags of maturin for a module without an interpreter. Writes the
    file that they name, unless it is there: pyo3 would be compiled again if it were newer.
    """
    is_other = sys.implementation.name != "cpython" or sys.platform != "linux"
    if is_other or sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_DEBUG"):
        return {}
    if not FILE.exists() or FILE.read_text() != DESCRIPTION:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(DESCRIPTION)
    return {"PYO3_CONFIG_FILE": str(FILE), "PYO3_BUILD_EXTENSION_MODULE": "1"}


if __name__ == "__main__":
    print(" ".join(f"{name}={value}" for name, value in variables().items()))
