"""The result of an identification."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from casid.display import Displayed
from casid.dynamics import Model
from casid.dynamics.terms._friction import Friction
from casid.identification.determined import Determined, determined
from casid.identification.feasible_fit import FeasibleFit
from casid.identification.finding import Verdict
from casid.identification.held_out import HeldOut
from casid.identification.prediction import Prediction, predict
from casid.inertia._parameter_files import parameter_record
from casid.measurement import Dataset, Processing
from casid.regression import Fit
from casid.regression.friction._cross_validation import Candidate
from casid.retrieval import Intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Identification(Displayed):
    """Result of `identify`.

    Attributes
    ----------
    model : Model
    datasets : tuple of Dataset
        Processed recordings.
    unconstrained : Fit
    feasible : FeasibleFit
        Physically consistent: of all sets that explain the data as well as the best, the most plausible.
    notes : tuple of str
        Everything that deserves a look.
    processing : Processing, bool or None
        As `identify` was told.
    friction : str
        As `identify` was told.
    law : Friction or None
        Nonlinear friction, joint by joint.
    candidates : tuple of Candidate
        What it was chosen from.
    held_out : HeldOut or None
        Errors on parts of the motion that a fit did not see.
    verdict : Verdict or None
        Is the model right, and what was found if not.
    intervals : Intervals or None
        Proven ranges of the links' masses, if asked for.
    """

    model: Model
    datasets: tuple[Dataset, ...]
    unconstrained: Fit
    feasible: FeasibleFit
    notes: tuple[str, ...]
    processing: Processing | bool | None
    friction: str = "linear"
    law: Friction | None = None
    candidates: tuple[Candidate, ...] = ()
    held_out: HeldOut | None = None
    verdict: Verdict | None = None
    intervals: Intervals | None = None

    @property
    def parameters(self) -> Array:
        """Physically consistent parameters, in the order of ``model.parameter_names``."""
        return self.feasible.parameters

    @property
    def determined(self) -> tuple[Determined, ...]:
        """For every parameter: is it the data that say so, or the plausible choice (`determined`)?"""
        return determined(self.unconstrained, self.parameters)

    def predict(self, dataset: Dataset) -> Prediction:
        """Torques of a processed recording by Newton-Euler with the consistent parameters."""
        return predict(self.model, self.parameters, dataset)

    def plot_torques(self, recording: int = 0) -> tuple[Axes, ...]:
        """Draw measured and predicted torques of a recording, one picture a joint, the residual beside them."""
        return self._plot("torques", recording=recording)

    def plot_friction(self) -> tuple[Axes, ...]:
        """Draw the torque beyond the links' own over the velocity of each joint, and the fitted joint terms."""
        return self._plot("friction")

    def plot_base_parameters(self) -> tuple[Axes, ...]:
        """Draw how far consistency moves each base parameter, in standard deviations of the unconstrained fit."""
        return self._plot("base_parameters")

    def plot_links(self) -> tuple[Axes, ...]:
        """Draw the identified links as ellipsoids of uniform density, from two sides."""
        return self._plot("links")

    def record(self) -> dict[str, Any]:
        """What `load_model` needs to predict torques again, and what the fit said; plain numbers and text."""
        fit, feasible = self.unconstrained, self.feasible
        solution = feasible.solution
        return {
            "robot": self.model.robot.name,
            "gravity": None if self.model.gravity_vector is None else self.model.gravity_vector.tolist(),
            "terms": [
                f"{t.name}@{j}"
                for t in self.model.terms
                if not t.fitted
                for j in (t.joints or [joint.name for joint in self.model.robot.coordinates])
            ],
            "velocity_deadband": self.model.velocity_deadband,
            "friction": self.friction,
            "friction_law": None if self.law is None else self.law.record(),
            "friction_candidates": [dataclasses.asdict(candidate) for candidate in self.candidates],
            **parameter_record(self.model.named(feasible.parameters)),
            "status": solution.status,
            "certified": solution.certified,
            "gap": solution.gap,
            "residual_ratio": feasible.residual_ratio,
            "rank": fit.rank,
            "condition_number": fit.condition_number,
            "relative_error": {"unconstrained": fit.relative_error, "feasible": feasible.relative_error},
            "joints": [
                {
                    "name": joint.name,
                    "rms": float(feasible.rms[k]),
                    "relative_error": float(feasible.relative_errors[k]),
                    "unconstrained_relative_error": float(fit.relative_errors[k]),
                }
                for k, joint in enumerate(self.model.robot.coordinates)
            ],
            "base_parameters": [
                {
                    "name": name,
                    "expression": expression,
                    "unconstrained": float(fit.beta[k]),
                    "sd": float(fit.sd[k]) if np.isfinite(fit.sd[k]) else None,
                    "feasible": float(feasible.beta[k]),
                }
                for k, (name, expression) in enumerate(zip(fit.data.base.names, fit.data.base.expressions, strict=True))
            ],
            "verdict": None if self.verdict is None else self.verdict.record(),
            "active_bounds": [bound.text for bound in feasible.active],
            "believable": self._choice(),
            "determined": [
                {"name": e.name, "value": e.value, "low": _finite(e.low), "high": _finite(e.high), "by_data": e.by_data}
                for e in self.determined
            ],
            "intervals": None
            if self.intervals is None
            else {e.name: [_finite(e.low), _finite(e.high)] for e in self.intervals.entries},
            "held_out": None if self.held_out is None else self.held_out.record(),
            "processing": dataclasses.asdict(self.processing)
            if isinstance(self.processing, Processing)
            else self.processing,
            "recordings": list(fit.data.datasets),
            "steps": list(fit.data.steps),
            "notes": list(self.notes),
        }

    def _choice(self) -> dict[str, Any] | None:
        choice = self.feasible.believable
        if choice is None:
            return None
        return {
            "share": choice.share,
            "divergence": choice.divergence,
            "lower_bound": choice.choice.lower_bound,
            "gap": choice.gap,
            "certified": choice.certified,
            "scale": choice.scale,
            "bodies": dict(zip((k.name for k in self.model.robot.links), choice.bodies.origins, strict=True)),
        }

    def __repr__(self) -> str:
        """Short: what a user at a prompt wants to know."""
        fit, feasible = self.unconstrained, self.feasible
        apart = "" if self.held_out is None else f", held out {self.held_out.tested['consistent'].total:.2f} %"
        return (
            f"Identification({self.model.robot.name}: {', '.join(fit.data.datasets)}; "
            f"error {feasible.relative_error:.2f} %{apart}, {fit.rank} of {fit.data.base.rank} base parameters, "
            f"{'certified' if feasible.certified else 'not certified'}"
            f"{'' if self.verdict is None or self.verdict.right else '; WRONG: see verdict'})"
        )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
