"""The page in a browser: runs `node --test tests/page`, where everything that it needs is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2] / "tests" / "page"


def test_the_page_does_what_a_person_expects() -> None:
    node = shutil.which("node")
    if node is None or not TESTS.exists():
        pytest.skip("the page's tests need Node.js 20 or newer")
    environment = {**os.environ, "SKYHOP_PYTHON": sys.executable}
    command = [node, "--test", "--test-reporter=tap", str(TESTS)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    if reason := re.search(r"skipped: (.*)", ran.stdout):
        pytest.skip(reason[1])
    passed = len(re.findall(r"^\s+ok \d+ - ", ran.stdout, re.MULTILINE))
    assert ran.returncode == 0, "\n".join(ran.stdout.splitlines()[-200:])
    assert passed >= 10, ran.stdout
