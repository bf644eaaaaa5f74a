"""Builds the site of the documents: `python python/tools/site.py` (or `make docs`) writes target/site/html.

The site has the documents at the places that they have in the project, so that a link works in both. Pages of the
Python API come from docstrings, those of the Rust API from `cargo doc`. `--no-rust` leaves the latter out. A link that
leads nowhere ends the build with an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "target/site"
SOURCE = SITE / "source"

#: What the site shows of the project: documents, and pictures that they show.
SHOWN = re.compile(r"(^|/)[^/]+\.(md|png|svg|cff|rs)$")

PYTHON = """# Python API

`import skyhop` gives these names. Quantities in results have their unit at the end of the name, such as `goodput_bps`.

::: skyhop.api.run

::: skyhop.api.run_into

::: skyhop.api.scenario

::: skyhop.loading.load

::: skyhop.frames.sweep

::: skyhop.frames.study

::: skyhop.results.Run

::: skyhop.results.RunTables

::: skyhop.frames.Grid

::: skyhop.plots.RunPlots

::: skyhop.own.CongestionControl

::: skyhop.own.include

::: skyhop._core.Scenario

::: skyhop._core.Progress

::: skyhop._core.ScenarioError

::: skyhop._core.ControlError
"""

RUST = """# Rust API

A Rust user depends on the crate `skyhop`; the others are its layers ([Architecture](../architecture.md)).
"""


def stage(with_rust: bool) -> None:
    """Puts the sources of the site together."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    listed = subprocess.run(
        [
            "git", "ls-files", "--cached", "--others", "--exclude-standard", "--",
            "*.md", "docs", "studies", "CITATION.cff",
        ],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if SHOWN.search(name) and (ROOT / name).is_file():
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, SOURCE / name)
    (SOURCE / "docs/reference/python.md").write_text(PYTHON, encoding="utf-8")
    (SOURCE / "docs/reference/rust.md").write_text(RUST + rust(with_rust), encoding="utf-8")


def rust(is_built: bool) -> str:
    """The crates of the workspace, each with a line about it; with its pages, if they are built."""
    if is_built:
        flags = {**os.environ, "RUSTDOCFLAGS": "-D warnings"}
        command = ["cargo", "doc", "--profile", "bench", "--workspace", "--no-deps", "--locked", "--quiet"]
        if subprocess.run(command, cwd=ROOT, env=flags, check=False).returncode:
            raise SystemExit("cargo doc found something that is wrong")
        shutil.copytree(_target() / "doc", SOURCE / "rust")
    lines = ["", "| crate | about |", "| --- | --- |"]
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        library = manifest.parent / "src/lib.rs"
        about = re.match(r"//! (.*(?:\n//! .+)*)", library.read_text(encoding="utf-8")) if library.exists() else None
        name = re.search(r'^name = "(.*)"', manifest.read_text(encoding="utf-8"), re.MULTILINE)
        if name is None or about is None:
            continue
        page = f"rust/{name[1].replace('-', '_')}/index.html"
        shown = f"[`{name[1]}`](../../{page})" if (SOURCE / page).is_file() else f"`{name[1]}`"
        # Links of rustdoc lead nowhere here.
        told = re.sub(r"\[(`[^`]+`)\]", r"\1", " ".join(about[1].replace("//! ", "").split()))
        lines.append(f"| {shown} | {told} |")
    if not is_built:
        lines += ["", "`make docs` adds the pages of each crate; this site was built without them."]
    return "\n".join(lines) + "\n"


def _target() -> Path:
    """Cargo's folder."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = re.search(r'"target_directory":"([^"]*)"', listed)
    assert found is not None
    return Path(found[1])


#: The theme takes its stand-in for Workers from the network; ours lies beside this file.
_SHIM = "https://unpkg.com/iframe-worker/shim"


def without_network() -> None:
    """Makes the pages load our stand-in for Workers, and makes sure that they load nothing else from elsewhere."""
    pages = SITE / "html"
    shutil.copyfile(Path(__file__).with_name("frame_worker.js"), pages / "assets/javascripts/frame_worker.js")
    for page in pages.rglob("*.html"):
        if (pages / "rust") in page.parents:
            continue
        text = page.read_text(encoding="utf-8")
        up = "../" * (len(page.relative_to(pages).parts) - 1)
        text = text.replace(_SHIM, f"{up}assets/javascripts/frame_worker.js")
        page.write_text(text, encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|link rel=.stylesheet.)[^>]*(?:src|href)=.?(https?://[^\s>]+)", text)
        if loaded:
            raise SystemExit(f"{page.relative_to(pages)} loads {loaded[0]} from the network")


def main() -> int:
    """Exit code 1 when a link leads nowhere or a page cannot be made."""
    stage("--no-rust" not in sys.argv[1:])
    # Not --quiet, which hides warnings from --strict, too.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, check=False, stderr=subprocess.PIPE, text=True)
    sys.stderr.writelines(f"{line}\n" for line in built.stderr.splitlines() if not line.startswith("INFO"))
    if built.returncode == 0:
        without_network()
        print(f"{SITE.relative_to(ROOT)}/html/index.html")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
