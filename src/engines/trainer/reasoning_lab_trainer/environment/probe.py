"""Says as one JSON object what a Python environment has, whatever in it is broken.

    python probe.py [--import NAME]... [--torch] [--seconds LIMIT]

Started as a file by any Python from 3.7 on, so it uses the standard library alone and no newer syntax. Versions come
from the packages' metadata, which imports nothing. What is imported, is imported in a process of its own with a time
limit: a package that ends its process, hangs or prints is then one entry of the report and not the end of it. The shape
of the report is `pythonProbeSchema` in src/protocol/torchEnvironment.ts.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import sysconfig
import time
from types import ModuleType

PACKAGES = (
    "torch",
    "trl",
    "transformers",
    "datasets",
    "accelerate",
    "peft",
    "ray",
    "vllm",
    "flash-attn",
    "kernels",
    "bitsandbytes",
    "nvidia-ml-py",
    "deepspeed",
    "triton",
    "numpy",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "uv",
    "pip",
)
"""Package index names whose versions are reported."""

IMPORT_SECONDS = 120.0
"""Default time limit per import, in seconds: from a cold disk, torch alone takes half a minute."""


def main() -> None:
    """Prints the report or, with `--in-child`, does the work of one child process."""
    # The folder of this file contains modules that do not belong to the environment.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.getcwd()) != here]
    arguments = sys.argv[1:]
    out = own_output()
    if arguments[:1] == ["--in-child"]:
        result = torch_facts() if arguments[1] == "--torch" else import_name(arguments[1])
        write(out, result)
        # Threads and servers started by a package must not affect how this process ends.
        os._exit(0)
    names = [arguments[i + 1] for i, argument in enumerate(arguments[:-1]) if argument == "--import"]
    seconds = float(arguments[arguments.index("--seconds") + 1]) if "--seconds" in arguments else IMPORT_SECONDS
    write(out, report(names, "--torch" in arguments, seconds))


def report(names: list[str], torch: bool, seconds: float) -> dict[str, object]:
    """The whole report. `names` are imported, each within `seconds`; with `torch`, the devices of torch are listed."""
    versions, broken = package_versions()
    imports: dict[str, object] = {}
    facts = None
    if torch and versions.get("torch") is not None:
        outcome, facts = in_child("--torch", seconds)
        imports["torch"] = outcome
    for name in names:
        if name == "torch" and "torch" in imports:
            continue
        imports[name] = in_child(name, seconds)[0]
    libc = " ".join(platform.libc_ver()).strip()
    return {
        "format": 1,
        "python": platform.python_version(),
        "executable": sys.executable or "",
        "machine": platform.machine(),
        "platform": sys.platform,
        "libc": libc if libc.startswith("glibc") else None,
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "freeThreaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "virtual": sys.prefix != sys.base_prefix or os.path.isdir(os.path.join(sys.prefix, "conda-meta")),
        "prefix": sys.prefix,
        "venv": can_find("venv"),
        "ensurepip": bundled_pip(),
        "packages": versions,
        "broken": broken,
        "imports": imports,
        "torch": facts,
    }


def package_versions() -> tuple[dict[str, str | None], dict[str, str]]:
    """Versions of known packages (or None), and errors of unreadable metadata."""
    versions: dict[str, str | None] = dict.fromkeys(PACKAGES)
    broken: dict[str, str] = {}
    try:
        from importlib import metadata
    except ImportError:  # Python 3.7
        return versions, broken
    for name in PACKAGES:
        found, error = installed_version(metadata, name)
        versions[name] = found
        if error is not None:
            broken[name] = error
    return versions, broken


def installed_version(metadata: ModuleType, name: str) -> tuple[str | None, str | None]:
    """Version and error of one package; both None if it is not installed."""
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return None, None
    except Exception as error:  # Whatever is wrong there.
        return None, one_line(error)
    # A metadata folder without its file has no version.
    return (found, None) if isinstance(found, str) and found else (None, "its metadata has no version")


def can_find(module: str) -> bool:
    """Whether a standard library module is installed: some systems omit parts."""
    try:
        from importlib.util import find_spec

        return find_spec(module) is not None
    except Exception:
        return False


def bundled_pip() -> str | None:
    """The pip version that a new virtual environment gets; None if it gets none."""
    try:
        import ensurepip

        return str(ensurepip.version())
    except Exception:
        return None


def in_child(what: str, seconds: float) -> tuple[dict[str, object], dict[str, object] | None]:
    """Runs this file with `--in-child`; returns the result and, for torch, its facts."""
    started = time.monotonic()
    command = [sys.executable, os.path.abspath(__file__), "--in-child", what]
    environment = dict(os.environ, HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"ok": False, "error": f"timed out after {seconds:g} s"}, None
    except OSError as error:
        return {"ok": False, "error": one_line(error)}, None
    spent = round(time.monotonic() - started, 2)
    try:
        result = json.loads(done.stdout.decode("utf-8"))
    except ValueError:
        words = last_line(done.stderr)
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        said = ": " + words if words else ""
        return {"ok": False, "error": f"its process ended ({how}){said}"}, None
    facts = result.pop("facts", None)
    result["seconds"] = spent
    return result, facts


def import_name(name: str) -> dict[str, object]:
    """Imports `module` or `module: a, b`."""
    module, _, members = name.partition(":")
    try:
        loaded = __import__(module.strip(), fromlist=["_"])
        for member in members.split(","):
            if member.strip():
                getattr(loaded, member.strip())
    except BaseException as error:  # SystemExit too
        return {"ok": False, "error": one_line(error)}
    return {"ok": True}


def torch_facts() -> dict[str, object]:
    """Build and visible devices of torch."""
    try:
        import torch
    except BaseException as error:
        return {"ok": False, "error": one_line(error)}
    facts: dict[str, object] = {
        "version": str(getattr(torch, "__version__", "unknown")),
        "cuda": getattr(getattr(torch, "version", None), "cuda", None),
        "rocm": getattr(getattr(torch, "version", None), "hip", None),
        "cudaAvailable": False,
        "cudaError": None,
        "mpsAvailable": False,
        "bf16": None,
        "gpus": [],
        "architectures": [],
        "threads": 0,
    }
    try:
        facts["threads"] = int(torch.get_num_threads())
        facts["architectures"] = [str(name) for name in torch.cuda.get_arch_list()]
        facts["mpsAvailable"] = bool(torch.backends.mps.is_available())
        facts["cudaAvailable"] = bool(torch.cuda.is_available())
        if facts["cuda"] is not None or facts["rocm"] is not None:
            look_at_gpus(torch, facts)
        elif not facts["mpsAvailable"]:
            facts["bf16"] = True  # Every CPU supports it, though few do so quickly.
    except BaseException as error:
        facts["cudaError"] = one_line(error)
    try:
        torch.ones(2).sum().item()
    except BaseException as error:
        return {"ok": False, "error": one_line(error), "facts": facts}
    return {"ok": True, "facts": facts}


def look_at_gpus(torch: object, facts: dict[str, object]) -> None:
    """Fills `gpus` and `bf16`, or `cudaError` with the reason why there are none."""
    cuda = torch.cuda  # type: ignore[attr-defined]
    if not facts["cudaAvailable"]:
        try:
            cuda.init()
        except BaseException as error:
            facts["cudaError"] = one_line(error)
        return
    gpus = []
    for index in range(cuda.device_count()):
        entry: dict[str, object] = dict.fromkeys(("total", "free", "capability"))
        entry["name"] = cuda.get_device_name(index)
        try:
            entry["capability"] = ".".join(str(part) for part in cuda.get_device_capability(index))
            entry["free"], entry["total"] = (int(size) for size in cuda.mem_get_info(index))
        except BaseException as error:
            facts["cudaError"] = one_line(error)
        gpus.append(entry)
    facts["gpus"] = gpus
    facts["bf16"] = bool(cuda.is_bf16_supported())


def own_output() -> int:
    """Duplicates standard output and redirects it to standard error, because packages print on import."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def write(descriptor: int, value: object) -> None:
    """Writes the one JSON object."""
    data = json.dumps(value).encode("utf-8")
    while data:
        data = data[os.write(descriptor, data) :]


def one_line(error: BaseException) -> str:
    """`ImportError: no such file`, on one line of limited length."""
    words = " ".join(str(error).split())
    name = type(error).__name__
    return (name + ": " + words if words else name)[:500]


def last_line(output: bytes) -> str:
    """The last nonempty line of a process's output."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


if __name__ == "__main__":
    main()
