"""Finds a foreign environment's library in this interpreter, and an environment's files in a folder."""

import importlib
import importlib.metadata
import os
import re
import sys

from . import frames
from .module_file import LoadFault


class EpisodeEnd(BaseException):
    """Raised by an instance if its episode cannot continue. `kind` is one of those in src/protocol/episode.ts. Not a
    subclass of Exception, so it does not become a tool result.
    """

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def fault(reason, message, action=None, **place):
    """Returns a LoadFault."""
    return LoadFault(reason=reason, message=message, **({} if action is None else {"action": action}), **place)


def require(names, module, oldest):
    """Imports a module of a library. Returns (module, version of the library). Raises LoadFault.

    `names`: the names under which the library is published; `oldest`: the oldest supported version, (major, minor).
    """
    found = _installed(names)
    if len(found) > 1:
        listed = " and ".join(f"{name} {version} in {place}" for name, version, place in found)
        action = f"Keep one: {sys.executable} -m pip uninstall {found[0][0]}."
        raise fault("invalid", f"Several versions are installed: {listed}", action)
    if not found:
        raise fault(
            "unavailable",
            f"{names[0]} is not installed for {sys.executable}",
            f"Install it: {sys.executable} -m pip install {names[0]}. Or choose an interpreter that has it.",
        )
    name, version, _ = found[0]
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if number < oldest:
        wanted = ".".join(map(str, oldest))
        raise fault(
            "unavailable",
            f"{name} {version} is too old; version {wanted} is needed",
            f"Update it: {sys.executable} -m pip install --upgrade {name}.",
        )
    return import_module(module, f"{name} {version}"), version


def import_module(module, what, passing=()):
    """Imports a module. `what` names it in errors. Raises LoadFault."""
    try:
        return importlib.import_module(module)
    except passing:
        raise
    except BaseException as error:
        raise imported_fault(error, what)


def imported_fault(error, what):
    """Returns the LoadFault for an exception raised by importing or constructing something."""
    described = frames.describe(error, "")
    described["message"] = f"{what} cannot be loaded: {described['message']}"
    described["action"] = "Check the package, its version, and its arguments."
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        described["action"] = f"Install {package} for {sys.executable}, or choose an interpreter that has it."
    return LoadFault(reason="invalid", **described)


def _installed(names):
    """Returns [(name, version, folder)] for the installations that an import could find. Each folder counts once."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name in names:
            found.setdefault((name, os.path.realpath(str(distribution.locate_file("")))), distribution.version)
    # Two installations of the same version, such as in a virtual environment and in its base, are equivalent.
    kept = {}
    for (name, place), version in found.items():
        kept.setdefault((name, version), place)
    return [(name, version, place) for (name, version), place in kept.items()]


def local_files_below(folder):
    """Returns this process's loaded files in a folder, at most 200."""
    prefix = os.path.join(os.path.realpath(folder), "")
    loaded = {os.path.realpath(module.__file__) for module in list(sys.modules.values()) if _has_file(module)}
    return sorted(path for path in loaded if path.startswith(prefix) and f"{os.sep}site-packages{os.sep}" not in path)[:200]


def _has_file(module):
    return isinstance(getattr(module, "__file__", None), str)


def require_from_folder(module, folder):
    """Raises LoadFault if an imported module does not come from the specified folder."""
    file = os.path.realpath(getattr(module, "__file__", None) or "")
    if not file.startswith(os.path.join(os.path.realpath(folder), "")):
        raise fault(
            "invalid",
            f"{module.__name__} was imported from {file}, not from {folder}: another package has the same name",
            f"Uninstall it: {sys.executable} -m pip uninstall {module.__name__}. Or verify it by its package name.",
        )
