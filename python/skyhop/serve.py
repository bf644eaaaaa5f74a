"""The page: served on this machine, or exported as files beside a run."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import uvicorn

    from skyhop.server.guard import Guard
    from skyhop.server.library import Library

from skyhop import folders

#: Asked for when the caller names none; taken by nothing common.
PORT = 8641


def serve(
    folder: str | os.PathLike[str],
    *,
    port: int = PORT,
    open_browser: bool = True,
    memory: int | None = None,
    python_controls: Path | None = None,
    plugin_controls: Path | None = None,
) -> None:
    """Serves the page over a folder of runs on 127.0.0.1 until Ctrl-C. Port 0 takes any that is free.

    A run from the page may use `memory` bytes: without it what SKYHOP_MEMORY says, else 4 GB, or a third of what the
    machine has where that is less.

    `python_controls` is a folder with Python files whose controls scenarios from the page may run, `plugin_controls`
    one with shared libraries. Without them they run no code.

    Raises FileNotFoundError when the page was not built or the folder does not exist, OSError when the port is taken.
    """
    import uvicorn

    from skyhop.server import checks
    from skyhop.server.app import create, page_folder
    from skyhop.server.jobs import Limits
    from skyhop.server.limits import allow_files

    page_folder()
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"{root} is not a folder")
    for variable, code in ((checks.PYTHON_CONTROLS, python_controls), (checks.PLUGIN_CONTROLS, plugin_controls)):
        os.environ.pop(variable, None)
        if code is not None:
            if not code.is_dir():
                raise FileNotFoundError(f"{code} is not a folder")
            os.environ[variable] = str(code.resolve())
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
            # From here on the system keeps connections until they are taken, so the address works once it is told.
            listening.listen()
        except OSError as error:
            raise OSError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from error
        port = listening.getsockname()[1]
        address = f"http://127.0.0.1:{port}/"
        sys.stderr.write(f"Skyhop is at {address} (Ctrl-C ends it)\n")
        # 256 connections, each perhaps with a file, and the pipes of all processes.
        allow_files(1024)
        config = configuration(create(root, port=port, limits=Limits(memory=memory)))
        if open_browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


def configuration(app: Guard, log_level: str = "error") -> uvicorn.Config:
    """How uvicorn serves the application. Its warnings are about what others send, which is answered and no concern."""
    import uvicorn

    return uvicorn.Config(
        app, http=app.doors.protocol(), ws="none", log_level=log_level, access_log=False, server_header=False,
        lifespan="on", timeout_graceful_shutdown=1,
    )  # fmt: skip


def export(run_dir: str | os.PathLike[str], html_dir: str | os.PathLike[str]) -> Path:
    """Writes the page with one run, or all runs below a folder, into `html_dir` and returns the path of index.html.

    The files need no server: they may lie on any web space or be opened from a disk. An older page in `html_dir` is
    replaced as a whole. Raises FileNotFoundError when there is no run or the page was not built, FileExistsError when
    `html_dir` holds anything but an exported page.
    """
    from skyhop.server import library as lib
    from skyhop.server.app import page_folder

    page = page_folder()
    library = lib.Library(Path(run_dir))
    runs = library.runs()
    if not runs:
        raise FileNotFoundError(f"{run_dir} holds no run")
    if len(runs) == 1 and runs[0]["id"] == ".":
        runs[0]["title"] = runs[0]["title"] or library.folder.name
    content: dict[str, str] = {}
    for run in runs:
        names = ["scenario.json", *(f"{table}.parquet" for table in run["tables"] if table != "packets")]
        for name in names:
            path = library.file(run["id"], name)
            if path is not None:
                content[f"{run['id']}/{name}"] = base64.b64encode(path.read_bytes()).decode("ascii")
        content[f"{run['id']}/manifest.json"] = base64.b64encode(_manifest(library, run["id"])).decode("ascii")
    studies = [study for study in lib.studies(library) if study["header"]]
    data = json.dumps({"runs": runs, "studies": studies, "files": content}, separators=(",", ":"))
    with folders.staged(html_dir, "page") as staging:
        (staging / "runs.js").write_text(f"window.SKYHOP_EXPORT={data};\n", encoding="utf-8")
        for name in ("page.js", "page.css"):
            shutil.copyfile(page / name, staging / name)
        html = (page / "index.html").read_text(encoding="utf-8")
        script = '<script defer src="./page.js">'
        html = html.replace(script, f'<script defer src="./runs.js"></script>\n{script}')
        (staging / "index.html").write_text(html, encoding="utf-8")
    return Path(html_dir) / "index.html"


def _manifest(library: Library, run: str) -> bytes:
    """The manifest of a run without its scenario, which is in a file of its own and may hold long tables."""
    path = library.file(run, "manifest.json")
    manifest = json.loads(path.read_bytes()) if path is not None else {}
    return json.dumps({key: value for key, value in manifest.items() if key != "scenario"}).encode()
