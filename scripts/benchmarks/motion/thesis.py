"""Rows about the thesis's free fall and control of the WAM."""

from __future__ import annotations

import numpy as np
from papers import wam_cases as thesis

from benchmarks.measure import Result, Rows
from casid.simulation import SmoothCoulomb
from casid.simulation._result import Reason

row = Rows()


@row("free fall of the WAM, beta_WLS", "stops before 0.1 s: M not positive definite", "thesis: 0.041 s, no reason")
def infeasible_fall() -> Result:
    """Looked after, and left to the integrator as in the thesis."""
    done = thesis.free_fall("beta_WLS", 60.0, SmoothCoulomb(1e-3))
    blind = thesis.divergence("beta_WLS")
    text = f"{done.end}; without the check, sigmoid friction, Dormand-Prince: {blind.end}"
    return text, done.end.reason is Reason.INDEFINITE and done.end.time < 0.1 and not blind.end.finished


@row("free fall, feasible sets, 60 s, exact Coulomb", "comes to rest; energy book to 1e-8", "thesis Fig. 5.3, 5.4")
def feasible_fall() -> Result:
    parts, good = [], True
    for name in thesis.FEASIBLE:
        done = thesis.free_fall(name, 60.0)
        book = done.energy
        moving = np.abs(done.dq).max(axis=1) > 0
        rest = float(done.t[moving][-1])
        rises = float(np.diff(book.total + book.dissipated).max())
        good &= done.end.finished and rest < 59.0 and not moving[-1] and book.relative_imbalance <= 1e-8
        parts.append(
            f"{name} at rest after {rest:.3f} s, {book.dissipated[-1]:.1f} J taken by friction, book to "
            f"{book.relative_imbalance:.0e} (largest rise of T + U + dissipated {rises:.0e} J)"
        )
    return "; ".join(parts), good


@row("control of trajectory B, rms errors [deg]",
     "feasible tracks (error < motion) by every law; infeasible diverges by computed torque",
     "thesis Fig. 5.6-5.8")  # fmt: skip
def control() -> Result:
    amplitude = np.degrees(np.std(thesis.trajectory_b().motion(np.linspace(0, thesis.PERIOD, 500)).q, axis=0))
    parts, good = [f"plant {thesis.MACHINE}; rms of the motion {_list(amplitude)} deg"], True
    for law in thesis.LAWS:
        for name in thesis.SETS:
            done = thesis.track(name, law)
            errors = thesis.rms_degrees(done)
            parts.append(f"{law}, {name}: {_list(errors) if done.end.finished else done.end}")
            if name in thesis.FEASIBLE:
                good &= done.end.finished and bool((errors < amplitude).all())
            elif law.startswith("computed"):  # PD control has no model, or its gravity alone
                good &= not done.end.finished
    return "; ".join(parts), good


def _list(values: np.ndarray) -> str:
    return " ".join(f"{value:.1f}" for value in values)
