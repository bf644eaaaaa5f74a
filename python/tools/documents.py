#!/usr/bin/env python3
"""Takes the place of rustdoc in `cargo test`: runs the examples of a crate and looks at its documents, too.

`cargo doc` would compile every dependency as far as its types, for minutes. Cargo calls rustdoc for the examples of
each library with all that rustdoc needs for the documents as well. The variable RUSTDOC names this file then; a link
that leads nowhere is an error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: Arguments of examples only, and how many words follow them.
EXAMPLES = {"--test": 0, "--no-run": 0, "--nocapture": 0, "--test-args": 1, "--test-run-directory": 1}


def documented(arguments: list[str], folder: Path) -> list[str]:
    """The arguments with which rustdoc writes the documents whose examples it runs with these."""
    kept = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in EXAMPLES:
            kept.append(word)
        elif not equals:
            for _ in range(EXAMPLES[name]):
                next(words, None)
    return [*kept, "-D", "warnings", "--out-dir", str(folder)]


def main(arguments: list[str]) -> int:
    """The code of rustdoc: of the examples, or else of the documents."""
    code = subprocess.run(["rustdoc", *arguments], check=False).returncode
    if "--test" not in arguments:
        return code
    folder = Path(__file__).resolve().parents[2] / "target" / "documents"
    return code or subprocess.run(["rustdoc", *documented(arguments, folder)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
