"""What picoquic's own satellite tests take in picoquic's own simulator: the truth beside which ours stands.

Compiles picoquic from the sources that `picoquic.py` fetches, with OpenSSL and with its own tests, and has its function
`satellite_test_one` send 100 MB over each path. A bound of 1 µs, which no transfer can keep, makes it print the time.
Needs a C compiler and OpenSSL's headers (Debian's libssl-dev), and a minute of CPU time.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import picoquic


class Native(NamedTuple):
    """A call of `satellite_test_one` in picoquictest/satellite_test.c."""

    #: picoquic's name of the congestion control.
    control: str
    #: Mbit/s from the sender and back.
    up: int
    down: int
    #: One packet in 64 of both directions is lost.
    loses: bool = False
    #: The connection knows rate and RTT from an earlier one.
    knows: bool = False


#: Files of picoquictest that the satellite tests need.
_TESTS = ("tls_api_test",)
_PICOTLS = ("asn1", "cifra", "ffx", "hpke", "minicrypto-pem", "openssl", "pembase64", "picotls", "uecc")
_CIFRA = ("aes128", "aes256", "chacha20", "random", "x25519")
_DEPENDENCIES = (
    "micro-ecc/uECC", "cifra/src/aes", "cifra/src/blockwise", "cifra/src/chacha20", "cifra/src/chash",
    "cifra/src/curve25519", "cifra/src/drbg", "cifra/src/gcm", "cifra/src/gf128", "cifra/src/hmac",
    "cifra/src/modes", "cifra/src/poly1305", "cifra/src/sha256", "cifra/src/sha512",
)  # fmt: skip
#: Of other systems.
_FOREIGN = {"winsockloop", "picoquic_mbedtls", "picoquic_ptls_fusion"}

_DRIVER = """
#include "satellite_test.c"
int main(int count, char **words)
{
    (void)count;
    picoquic_solution_dir = words[1];
    picoquic_register_all_congestion_control_algorithms();
    debug_printf_push_stream(stdout);
    return satellite_test_one((picoquic_congestion_algorithm_t *)picoquic_get_congestion_algorithm(words[2]), 100000000,
                              1, atoi(words[3]), atoi(words[4]), 0, atoi(words[5]), 0, atoi(words[6]), 0, 0) == 0;
}
"""


def build(folder: Path) -> Path:
    """The program, built in `folder`.

    Raises:
        SystemExit: the compiler's words.
    """
    picoquic.fetch(picoquic.FOLDER)
    quic, tls = picoquic.FOLDER / "picoquic", picoquic.FOLDER / "picotls"
    includes = [
        *(quic / name for name in ("picoquic", "loglib", "picoquictest")), tls / "include",
        *(tls / "deps" / name for name in ("cifra/src", "cifra/src/ext", "micro-ecc")),
    ]  # fmt: skip
    driver = folder / "driver.c"
    driver.write_text(_DRIVER, encoding="utf-8")
    sources = [
        driver,
        *(one for one in sorted((quic / "picoquic").glob("*.c")) if one.stem not in _FOREIGN),
        *sorted((quic / "loglib").glob("*.c")),
        *(quic / "picoquictest" / f"{name}.c" for name in _TESTS),
        *(tls / "lib" / f"{name}.c" for name in _PICOTLS),
        *(tls / "lib" / "cifra" / f"{name}.c" for name in _CIFRA),
        *(tls / "deps" / f"{name}.c" for name in _DEPENDENCIES),
    ]
    flags = ["-O2", "-w", "-D_GNU_SOURCE", "-DPTLS_WITHOUT_FUSION", *(f"-I{one}" for one in includes)]
    # The tests that are not called need more files.
    flags += ["-ffunction-sections", "-fdata-sections"]

    def compiled(place: int) -> Path:
        target = folder / f"{place}.o"
        _call(["cc", *flags, "-c", str(sources[place]), "-o", str(target)])
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, range(len(sources))))
    program = folder / "satellite"
    _call(["cc", *map(str, objects), "-Wl,--gc-sections", "-lssl", "-lcrypto", "-lpthread", "-lm", "-o", str(program)])
    return program


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[-3:])}: {done.stderr[-2000:]}")


def times(paths: list[Native]) -> dict[Native, float]:
    """Seconds from the start of each connection until the last byte has arrived."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        found = {}
        for path in paths:
            numbers = [str(int(one)) for one in (path.up, path.down, path.loses, path.knows)]
            command = [str(program), str(picoquic.FOLDER / "picoquic"), path.control, *numbers]
            # It writes its logs where it stands.
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            said = re.search(r"completes in (\d+) microsec", done.stdout)
            if said is None:
                sys.exit(f"{path}: {done.stdout[-500:]}{done.stderr[-500:]}")
            found[path] = int(said[1]) / 1e6
    return found


def main() -> None:
    """Prints the times of both controls over all paths."""
    rates = [((250, 3), False, False), ((250, 3), True, False), ((250, 3), False, True)]
    rates += [((50, 10), False, False), ((10, 2), False, False), ((2, 10), False, False)]
    paths = [Native(control, *pair, loses, knows) for pair, loses, knows in rates for control in ("bbr", "cubic")]
    for path, seconds in times(paths).items():
        kind = " lossy" * path.loses + " seeded" * path.knows
        print(f"{path.control:6} {path.up:4}/{path.down} Mbit/s{kind}: {seconds:.3f} s")


if __name__ == "__main__":
    main()
