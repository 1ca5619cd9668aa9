"""Kinds of files that hold results: solutions, identifications, parameters, studies, constraints, exports."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from benchmarks.measure import NotMeasured
from benchmarks.soundness import fuzz_mutators as mutators
from benchmarks.soundness.fuzz_kinds import ROBOT, Binary, Generator, Kind
from benchmarks.soundness.fuzz_recordings import recording
from casid.description import Robot, load_robot
from casid.dynamics import Model
from casid.measurement import Dataset


def problem() -> Any:
    """The smallest problem: the bodies of a robot from its base parameters."""
    from casid.retrieval import Problem, base_parameter_error, link_variables, robot_bounds

    robot = load_robot("spatial_2r")
    links, base = link_variables(robot), Model(robot).base
    bodies = np.array([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1, 2.0] * robot.n)
    return Problem("small", links, base_parameter_error(links, base.K, base.values(bodies)), robot_bounds(links))


class ParameterFile(Kind):
    """What `casid check`, `casid export --parameters` and Python read."""

    @cached_property
    def model(self) -> Model:
        return Model(load_robot(ROBOT), ["viscous", "coulomb"])

    @cached_property
    def vector(self) -> np.ndarray:
        bodies = np.array([0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1, 2.0] * self.model.n)
        return np.asarray(self.model.parameters(bodies))

    def read(self, path: Path) -> Iterable[Any]:
        from casid.inertia import read_parameters

        return [np.asarray(read_parameters(path, self.model).values)]


class ParameterCsv(ParameterFile):
    name, file = "parameter CSV", "parameters.csv"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        rows = [
            f"{name},{value!r}" for name, value in zip(self.model.parameter_names, self.vector.tolist(), strict=True)
        ]
        return [
            "\n".join(["parameter,value", *rows]).encode(),
            "\n".join(["name;value", *rows]).replace(",", ";").encode(),
        ]


class ParameterJson(ParameterFile):
    name, file = "parameter JSON", "parameters.json"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        named = dict(zip(self.model.parameter_names, self.vector.tolist(), strict=True))
        return [json.dumps({"parameters": named}, indent=1).encode(), json.dumps(self.vector.tolist()).encode()]


class ParameterNpy(ParameterFile, Binary):
    name, file = "parameter npy", "parameters.npy"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [self._packed(self.vector), self._packed(self.vector.astype(">f8"))]

    @staticmethod
    def _packed(array: np.ndarray) -> bytes:
        buffer = io.BytesIO()
        np.save(buffer, array)
        return buffer.getvalue()

    def spoilt(self, rng: Generator) -> bytes:
        if rng.random() < 0.4:
            return self._packed(next(iter(mutators.other_arrays({"x": self.vector, "y": self.vector}, rng).values())))
        return Binary.spoilt(self, rng)


class SolutionJson(Kind):
    """``solution.json``, read by `casid check`, and parameters of its robot."""

    name, file = "solution JSON", "solution.json"

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        from casid.files import json_bytes
        from casid.report import report_of
        from casid.retrieval import solve

        return [json_bytes(report_of(solve(problem())).record())]

    @cached_property
    def model(self) -> Model:
        return Model(load_robot("spatial_2r"))

    def read(self, path: Path) -> Iterable[Any]:
        from casid.identification.repair import check_file
        from casid.inertia import read_parameters

        return [
            np.asarray(read_parameters(path, self.model).values),
            *(link.repaired for link in check_file(path).links),
        ]


class IdentificationJson(Kind):
    """``identification.json``, read by `casid validate` and `casid check`."""

    name, file = "identification JSON", "identification.json"

    @cached_property
    def robot(self) -> Robot:
        return load_robot(ROBOT)

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        from casid.files import json_bytes
        from casid.identification import ModelOptions, identify

        arrays = recording(600)
        data = Dataset(arrays["t"], arrays["q"], arrays["tau"])
        found = []
        for friction in ("linear", "stribeck"):
            try:
                record = identify(
                    self.robot, data, model=ModelOptions(terms=["viscous", "coulomb"], friction=friction)
                ).record()
            except TypeError:  # models of friction differ between versions; the linear one is enough
                continue
            found.append(json_bytes(record))
        return found

    def read(self, path: Path) -> Iterable[Any]:
        from casid.identification import load_model
        from casid.identification.repair import check_file

        model, parameters = load_model(path, self.robot)
        zero = np.zeros(model.n)
        signal = [zero] if "signal" in model.inverse_dynamics.name_in() else []
        torques = np.array(ca.DM(model.inverse_dynamics(zero + 0.1, zero + 0.2, zero, parameters, *signal)))
        return [parameters, torques, *(link.repaired for link in check_file(path).links)]


class StudyFile(Kind):
    """A study's file: read and continued."""

    name, file = "study file", "study.jsonl"

    @cached_property
    def problem(self) -> Any:
        return problem()

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.jsonl"
            list(self.read(path))
            return [path.read_bytes()]

    def may_change(self) -> bool:
        return True

    def read(self, path: Path) -> Iterable[Any]:
        from casid.retrieval import run_study

        study = run_study(self.problem, path, starts=3, seed=1)
        return [solution.x for solution in study.solutions]


CONSTRAINTS = '''"""Constraints of a regression."""

from casid.retrieval import sensible_bounds, total_mass


def constraints(variables):
    links = variables.links if hasattr(variables, "links") else variables
    bounds = sensible_bounds(variables)
    return (*bounds, total_mass(variables, 0.5, 20.0))
'''


class ConstraintFile(Kind):
    """A program of the user's own: its mistakes are reported in one line, with the place."""

    name, file = "constraint file", "mine.py"

    @cached_property
    def variables(self) -> Any:
        from casid.retrieval import link_variables

        return link_variables(load_robot(ROBOT))

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [CONSTRAINTS.encode()]

    def read(self, path: Path) -> Iterable[Any]:
        from casid.retrieval import load_constraints

        load_constraints(path)(self.variables)
        return []


class ExportJson(Kind):
    """The JSON of exported C code, from which it is loaded and called."""

    name, file = "export JSON", "mine.json"

    @cached_property
    def folder(self) -> dict[str, bytes]:
        from casid.codegen import find_compiler
        from casid.export import export_c

        if find_compiler() is None:
            raise NotMeasured("needs a C compiler")
        x, M = ca.SX.sym("x", 3), ca.SX.sym("M", 3, 3)
        functions = [
            ca.Function("product", [M, x], [M @ x], ["M", "x"], ["y"]),
            ca.Function("norm", [x], [ca.sumsqr(x), 2 * x], ["x"], ["square", "double_x"]),
        ]
        with tempfile.TemporaryDirectory() as folder:
            export_c(functions, Path(folder) / "c", "mine")
            return {path.name: path.read_bytes() for path in (Path(folder) / "c").iterdir()}

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        return [self.folder[self.file]]

    def place(self, content: bytes, folder: Path) -> Path:
        for name, good in self.folder.items():
            (folder / name).write_bytes(content if name == self.file else good)
        return folder

    def read(self, path: Path) -> Iterable[Any]:
        from casid.export import load

        numbers: list[Any] = []
        for function in load(path).values():
            arrays = [np.ones((rows, columns) if columns > 1 else rows) for rows, columns in function.inputs.values()]
            found = function(*arrays)
            numbers += list(found) if isinstance(found, tuple) else [found]
        return numbers
