"""Reports what is installed in a Python environment as a JSON object, even if parts of the environment are broken.

    python probe.py [--import NAME]... [--torch] [--seconds LIMIT]

Runs as a script on Python 3.7 or newer, so it uses only the standard library and no recent syntax. Versions come from
package metadata, which does not require importing anything. Imports run in a separate process with a time limit, so a
package that exits, hangs or prints becomes an entry in the report instead of breaking it. The report's schema is
`pythonProbeSchema` in src/protocol/torchEnvironment.ts.
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
"""PyPI names of packages whose versions are reported."""

IMPORT_SECONDS = 120.0
"""Default time limit per import, in seconds. Loading torch from a cold disk takes about 30 seconds."""


def main() -> None:
    """Prints the report or, with `--in-child`, runs a single child-process job."""
    # This file's folder contains modules that are not part of the environment.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.getcwd()) != here]
    arguments = sys.argv[1:]
    out = own_output()
    if arguments[:1] == ["--in-child"]:
        result = torch_facts() if arguments[1] == "--torch" else import_name(arguments[1])
        write(out, result)
        # Exit without waiting for threads or servers that a package may have started.
        os._exit(0)
    names = [arguments[i + 1] for i, argument in enumerate(arguments[:-1]) if argument == "--import"]
    seconds = float(arguments[arguments.index("--seconds") + 1]) if "--seconds" in arguments else IMPORT_SECONDS
    write(out, report(names, "--torch" in arguments, seconds))


def report(names: list[str], torch: bool, seconds: float) -> dict[str, object]:
    """Returns the full report. Imports `names` with a limit of `seconds` each and, with `torch`, lists torch's
    devices.
    """
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
    """Returns the versions of known packages (None if not installed), and errors for unreadable metadata."""
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
    """Returns a package's version and error. Both are None if it is not installed."""
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return None, None
    except Exception as error:  # Broken metadata can raise anything.
        return None, one_line(error)
    # A metadata folder without a METADATA file has no version.
    return (found, None) if isinstance(found, str) and found else (None, "the package metadata has no version")


def can_find(module: str) -> bool:
    """Returns whether a standard library module is installed. Some systems omit parts of the standard library."""
    try:
        from importlib.util import find_spec

        return find_spec(module) is not None
    except Exception:
        return False


def bundled_pip() -> str | None:
    """Returns the pip version that a new virtual environment would include, or None if it would not include pip."""
    try:
        import ensurepip

        return str(ensurepip.version())
    except Exception:
        return None


def in_child(what: str, seconds: float) -> tuple[dict[str, object], dict[str, object] | None]:
    """Runs this file with `--in-child`. Returns the result and, for torch, the torch facts."""
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
        return {"ok": False, "error": f"the process exited ({how}){said}"}, None
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
    except BaseException as error:  # Includes SystemExit.
        return {"ok": False, "error": one_line(error)}
    return {"ok": True}


def torch_facts() -> dict[str, object]:
    """Returns the torch build and its visible devices."""
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
            facts["bf16"] = True  # Every CPU supports bf16, but it is often slow.
    except BaseException as error:
        facts["cudaError"] = one_line(error)
    try:
        torch.ones(2).sum().item()
    except BaseException as error:
        return {"ok": False, "error": one_line(error), "facts": facts}
    return {"ok": True, "facts": facts}


def look_at_gpus(torch: object, facts: dict[str, object]) -> None:
    """Sets `gpus` and `bf16`, or sets `cudaError` to the reason why there are no GPUs."""
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
    """Duplicates standard output, then redirects it to standard error because packages print while being imported."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def write(descriptor: int, value: object) -> None:
    """Writes the JSON object."""
    data = json.dumps(value).encode("utf-8")
    while data:
        data = data[os.write(descriptor, data) :]


def one_line(error: BaseException) -> str:
    """Formats an exception as a single line of limited length, such as `ImportError: no such file`."""
    words = " ".join(str(error).split())
    name = type(error).__name__
    return (name + ": " + words if words else name)[:500]


def last_line(output: bytes) -> str:
    """Returns the last nonempty line of a process's output."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


if __name__ == "__main__":
    main()
