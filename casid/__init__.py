"""Identification of robot dynamics and retrieval of physically consistent parameters, on CasADi.

The names below are loaded when first used, so that ``import casid`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from casid._annexes import ANNEXES
from casid.display import drawn_by
from casid.version import __version__

if TYPE_CHECKING:
    from casid import codegen as codegen
    from casid import control as control
    from casid import excitation as excitation
    from casid import export as export
    from casid import expressions as expressions
    from casid import motion as motion
    from casid import regression as regression
    from casid import report as report
    from casid import simulation as simulation
    from casid.codegen import compile as compile
    from casid.description import Robot as Robot
    from casid.description import load_robot as load_robot
    from casid.description import robot_names as robot_names
    from casid.dynamics import Model as Model
    from casid.dynamics import base_parameters as base_parameters
    from casid.errors import CasidError as CasidError
    from casid.errors import CasidWarning as CasidWarning
    from casid.identification import identify as identify
    from casid.inertia import Parameters as Parameters
    from casid.measurement import Dataset as Dataset
    from casid.measurement import Processing as Processing
    from casid.measurement import read_dataset as read_dataset
    from casid.retrieval import load_problem as load_problem
    from casid.retrieval import problem_names as problem_names
    from casid.retrieval import Problem as Problem
    from casid.retrieval import Solution as Solution
    from casid.retrieval.methods import solve as solve
    from casid.retrieval.study import multistart as multistart
    from casid.retrieval.study import study as study

#: Public name -> the package that defines it.
_NAMES = {
    "compile": "codegen",
    "CasidError": "errors",
    "CasidWarning": "errors",
    "Parameters": "inertia",
    "Robot": "description",
    "load_robot": "description",
    "robot_names": "description",
    "Model": "dynamics",
    "base_parameters": "dynamics",
    "Dataset": "measurement",
    "Processing": "measurement",
    "read_dataset": "measurement",
    "identify": "identification",
    "Problem": "retrieval",
    "Solution": "retrieval",
    "load_problem": "retrieval",
    "multistart": "retrieval",
    "problem_names": "retrieval",
    "solve": "retrieval",
    "study": "retrieval.study",
}
#: Rooms that are attributes of `casid` without an import of their own.
_ROOMS = (
    "codegen", "control", "description", "dynamics", "errors", "excitation", "export", "expressions", "identification",
    "inertia", "measurement", "motion", "regression", "report", "retrieval", "simulation",
    *(annex.name for annex in ANNEXES),
)  # fmt: skip

drawn_by(lambda: import_module("casid.report._section"))

__all__ = ["__version__", *_NAMES, *_ROOMS]


def __getattr__(name: str) -> object:
    value: object
    if name in _NAMES:
        value = getattr(import_module(f"casid.{_NAMES[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"casid.{name}")
    else:
        from casid.files import near

        raise AttributeError(f"module 'casid' has no attribute '{name}'{near(name, (*_NAMES, *_ROOMS))}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
