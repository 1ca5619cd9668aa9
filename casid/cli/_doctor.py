"""Command that checks this installation: ``doctor``."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from math import isclose
from typing import Any

import typer

import casid
from casid.cli.shared import console
from casid.errors import CasidError

#: Extra -> (module whose presence shows that it is installed, its purpose).
_EXTRAS = {
    "test": ("pytest", "the tests"),
    "dev": ("mypy", "linters and types"),
    "study": ("joblib", "studies on several processes"),
    "cluster": ("distributed", "studies on a Dask cluster"),
    "meshes": ("trimesh", "meshes in other formats than binary STL"),
    "rosbag": ("rosbags", "recordings as rosbag2 or MCAP"),
    "learning": ("jax", "learnt models that scripts compare with"),
    "peers": ("pinocchio", "libraries that tests compare with"),
    "engines": ("pydrake", "a further physics engine of benchmarks"),
    "side-by-side": ("figaroh", "tools that benchmarks run beside casid"),
    "conda": ("rattler_build", "building the recipe for conda"),
    "encoders": ("cma", "CMA-ES, which benchmarks compare with"),
    "fmu": ("fmpy", "tests of exported FMUs"),
    "site": ("mkdocs", "the documentation as a site"),
    "mpc": ("do_mpc", "model predictive control with do-mpc"),
    "browser": ("playwright", "tests of pages in a browser"),
    "notebooks": ("nbclient", "running the notebooks"),
    "teaching": ("sympy", "equations of motion as SymPy and LaTeX"),
    "lerobot": ("pyarrow", "LeRobot datasets"),
    "mutation": ("coverage", "mutants of a room that its tests do not notice"),
}


#: One line of the report: what was checked, what was found, ``ok``, ``missing`` or ``absent``, and then what to do.
Line = tuple[str, str, str, str]


def _line(what: str, found: str, good: bool, remedy: str = "", lacking: str = "missing") -> Line:
    return what, found, "ok" if good else lacking, "" if good else remedy


def doctor() -> None:
    """Check this installation: solver, compiler, cache, extras. Exit code 1 if something necessary is missing."""
    from rich.text import Text

    from casid.report import TEXT, WORD, PlainTable

    lines = list(examine())
    states = {"ok": "green", "missing": "red", "absent": "yellow"}
    rows = [(what, found, Text(state, states[state]), remedy) for what, found, state, remedy in lines]
    columns = {"what": WORD, "found": TEXT, "state": WORD, "what to do": TEXT}
    console().print(PlainTable("casid doctor", columns, rows))
    if any(state == "missing" for _, _, state, _ in lines):
        raise typer.Exit(1)


def examine() -> Iterator[Line]:
    """All checks, one finding after the other."""
    yield _line("casid", f"{casid.__version__} on Python {platform.python_version()}, {platform.system()}", True)
    for requirement in metadata.requires("casid") or ():
        name = re.match(r"[\w.-]+", requirement)
        if name is None or ";" in requirement:
            continue
        yield _installed(name[0])
    yield _solver()
    yield from _compiler()
    for extra, (module, use) in _EXTRAS.items():
        there = find_spec(module) is not None
        found = f"{module}: {use}"
        yield _line(f"extra '{extra}'", found, there, f'pip install "casid[{extra}]"', "absent")


def _installed(package: str) -> Line:
    try:
        return _line(package, metadata.version(package), True)
    except metadata.PackageNotFoundError:
        return _line(package, "not installed", False, f"pip install {package}")


def _solver() -> Line:
    """IPOPT solves a problem of one variable."""
    import casadi as ca

    from casid.arrays import ALIKE

    x = ca.MX.sym("x")
    problem: Any = {"x": x, "f": (x - 1) ** 2}
    quiet: Any = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}
    try:
        solver = ca.nlpsol("solver", "ipopt", problem, quiet)
        answer = float(solver(x0=0.0)["x"])
    except RuntimeError as error:
        message = str(error).strip().splitlines()
        return _line("IPOPT", message[-1] if message else "fails", False, "reinstall CasADi from its wheel")
    right = isclose(answer, 1.0, rel_tol=ALIKE)
    return _line("IPOPT", "solves" if right else f"wrong answer {answer}", right)


def _compiler() -> Iterator[Line]:
    """A compiler, and a function compiled into the cache."""
    import casadi as ca
    import numpy as np

    command = casid.codegen.find_compiler()
    remedy = "install gcc or clang, or set CASID_CC to a compiler's path; without one batches run slower"
    found = "none found" if command is None else " ".join(command)
    yield _line("C compiler", found, command is not None, remedy, "absent")
    try:
        folder = casid.codegen.cache_directory()
        folder.mkdir(parents=True, exist_ok=True)
        x = ca.SX.sym("x")
        function, ones = ca.Function("doctor", [x], [x + 1]), np.array([[1.0]])
        value = casid.codegen.Function(function)(ones, compiled=command is not None)
    except (CasidError, OSError) as error:
        message = str(error).splitlines()[0]
        yield _line("cache", message, False, "set CASID_CACHE to a folder of your own", "absent")
        return
    yield _line("cache", str(folder), bool(np.allclose(value, 2.0)), "casid cache --clear", "absent")
