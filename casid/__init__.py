"""Identification of robot dynamics and retrieval of physically consistent parameters, on CasADi.

The names below are loaded when first used, so that ``import casid`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casid.description import Robot as Robot
    from casid.description import load_robot as load_robot
    from casid.description import robot_names as robot_names
    from casid.dynamics import Model as Model
    from casid.dynamics import base_parameters as base_parameters
    from casid.errors import CasidError as CasidError
    from casid.errors import CasidWarning as CasidWarning
    from casid.identification import identify as identify
    from casid.measurement import Dataset as Dataset
    from casid.measurement import Processing as Processing
    from casid.measurement import read_dataset as read_dataset
    from casid.retrieval import Problem as Problem
    from casid.retrieval import Solution as Solution
    from casid.retrieval import load_problem as load_problem
    from casid.retrieval import multistart as multistart
    from casid.retrieval import problem_names as problem_names
    from casid.retrieval import solve as solve

__version__ = "0.1.0"

#: Public name -> the room it lives in.
_ROOMS = {
    "CasidError": "casid.errors",
    "CasidWarning": "casid.errors",
    "Robot": "casid.description",
    "load_robot": "casid.description",
    "robot_names": "casid.description",
    "Model": "casid.dynamics",
    "base_parameters": "casid.dynamics",
    "Dataset": "casid.measurement",
    "Processing": "casid.measurement",
    "read_dataset": "casid.measurement",
    "identify": "casid.identification",
    "Problem": "casid.retrieval",
    "Solution": "casid.retrieval",
    "load_problem": "casid.retrieval",
    "multistart": "casid.retrieval",
    "problem_names": "casid.retrieval",
    "solve": "casid.retrieval",
}

__all__ = ["__version__", *_ROOMS]


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'casid' has no attribute '{name}'")
    value: object = getattr(import_module(_ROOMS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
