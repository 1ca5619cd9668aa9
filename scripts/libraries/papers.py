"""Entries from publications: consistent bodies from printed base parameters, or printed bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from benchmarks import published, recordings
from benchmarks.encoders.measured import PUBLISHED_EMPS, one_joint
from papers import wam_cases as thesis

import casid
from casid import retrieval
from casid.arrays import Array
from casid.description import Robot, description_of
from casid.dynamics import Model
from casid.errors import CasidError
from casid.identification._regression import extra_bounds
from casid.identification.repair import repair
from casid.inertia import Parameters, consistency
from casid.retrieval.plausible import believable, coefficient_tolerance
from libraries.entry import Found


@dataclass(frozen=True)
class Printed:
    """Base parameters of a publication.

    Attributes
    ----------
    names : sequence of str
        Leading parameters.
    forms : ndarray, shape (b, N)
        Linear forms of the model's parameters.
    values : ndarray, shape (b,)
    sd : ndarray or None
    """

    names: Sequence[str]
    forms: Array
    values: Array
    sd: Array | None = None


def chosen(problem: retrieval.Problem) -> tuple[Array, str, float]:
    """The plausible parameters among those that explain the coefficients, what is proven of them, Birge ratio."""
    solution = casid.solve(problem)
    proof = f"nearest consistent set certified to a gap of {solution.gap:.0e}, distance {solution.objective**0.5:.3g}"
    try:
        tolerance = coefficient_tolerance(solution)
    except CasidError:  # a perfect fit of coefficients without deviations
        choice = believable(problem, solution)
        return choice.x, f"{proof}; bodies: the most plausible with these coefficients", 1.0
    choice = believable(problem, solution, tolerance=tolerance.value)
    ratio = max(tolerance.ratio, 1.0) if tolerance.given else 1.0
    return choice.x, f"{proof}; bodies: the most plausible within the {tolerance.reason}", ratio


def from_coefficients(model: Model, printed: Printed) -> Found:
    """Bodies and joint terms from printed base parameters of a model."""
    variables = retrieval.link_variables(model.robot, extra_bounds(model))
    order = [model.parameter_names.index(name) for name in variables.names]
    forms = printed.forms[:, order]
    error = retrieval.base_parameter_error(variables, forms, printed.values)
    given = retrieval.Coefficients(forms, printed.values, printed.sd)
    bounds = retrieval.sensible_bounds(variables)
    problem = retrieval.Problem(model.robot.name, variables, error, constraints=bounds, coefficients=given)
    x, verdict, ratio = chosen(problem)
    robot = with_values(model.robot, variables.names, x)
    return Found(robot, verdict, intervals=intervals_of(printed, forms @ x, ratio))


def with_values(robot: Robot, names: Sequence[str], x: Array) -> Robot:
    """The robot with bodies and joint terms."""
    return robot.with_parameters(Parameters(tuple(names), x, tuple(link.name for link in robot.links)))


def intervals_of(printed: Printed, values: Array, ratio: float) -> dict[str, tuple[float, float, float]]:
    """Values of the entry, and 95 % about what is printed, its deviations times a ratio; empty without deviations."""
    if printed.sd is None:
        return {}
    rows = zip(printed.names, values, printed.values, printed.sd, strict=True)
    wide = 1.96 * ratio
    return {name: (float(v), float(p - wide * s), float(p + wide * s)) for name, v, p, s in rows}


# ---------------------------------------------------------------------- Panda, Gaz et al. 2019


def panda_re() -> Found:
    """The 42 reliable coefficients of the controller's own model."""
    problem = casid.load_problem("panda_retrieval")
    robot, given = problem.variables.robot, problem.coefficients
    assert given is not None
    x, verdict, ratio = chosen(problem)
    printed = Printed(Model(robot).base.names, given.forms, given.values, given.sd)
    intervals = intervals_of(printed, given.forms @ x, ratio)
    return Found(with_values(robot, problem.variables.names, x), verdict, intervals=intervals)


def panda_column(column: str) -> Found:
    """Coefficients and friction of Table III, identified from torques."""
    robot = casid.load_robot("panda")
    model = Model(robot, recordings.FRICTION, (0.0, 0.0, -9.80665))
    names, forms, values, sd = [], [], [], []
    for row in published.table("panda_table_III_dynamic_coefficients"):
        form = published.linear_form(row["expression_exact"], model.parameter_names)
        place = int(np.abs(model.base.K - form).max(axis=1).argmin())
        value = published.number(row[f"pi_{column}"])
        names.append(model.base.names[place])
        forms.append(model.base.K[place])
        values.append(value)
        sd.append(abs(value) * published.number(row.get(f"sd_{column}_percent", "")) / 100.0)
    deviations = np.array(sd) if np.isfinite(sd).all() else None
    found = from_coefficients(model, Printed(names, np.array(forms), np.array(values), deviations))
    return replace(found, files=("published/panda_table_III_dynamic_coefficients.csv",))


def panda_bodies() -> Found:
    """The printed set of bodies, as in ``robots/panda.toml``."""
    robot = casid.load_robot("panda")
    worst = min(
        consistency(link.inertial.standard_parameters()).pseudo_inertia_margin for link in robot.links if link.inertial
    )
    return Found(robot, f"all bodies physical, smallest eigenvalue of a pseudo-inertia {worst:.1e}; as printed")


# ---------------------------------------------------------------------- WAM, Sousa 2014


def wam(column: str) -> Found:
    """A column of Table 4.9, joint and motor terms included."""
    model = thesis.model()
    name = "wam_table_4_9_feasible_estimates"
    values = np.array([float(row[column]) for row in published.table(name)])
    found = from_coefficients(model, Printed(model.base.names, model.base.K, values))
    return replace(found, files=(f"published/{name}.csv",))


# ---------------------------------------------------------------------- printed bodies

#: Mass [kg], centre of mass [m], inertia about it, diagonal [kg.m^2] (Corke and Armstrong-Helouvry 1994, standard
#: Denavit-Hartenberg frames); of link 1 only the inertia about the joint is known, its mass is without effect.
_PUMA = (
    (0.0, (0.0, 0.0, 0.0), (0.0, 0.35, 0.0)),
    (17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    (4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
    (0.82, (0.0, 0.019, 0.0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.34, (0.0, 0.0, 0.0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.09, (0.0, 0.0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)
#: Motor inertia [kg.m^2], gear ratio, viscous friction [N.m.s], dry friction in both directions [N.m], at the motor.
_PUMA_DRIVES = (
    (200e-6, 62.6111, 1.48e-3, 0.395, 0.435),
    (200e-6, 107.815, 0.817e-3, 0.126, 0.071),
    (200e-6, 53.7063, 1.38e-3, 0.132, 0.105),
    (33e-6, 76.0364, 71.2e-6, 11.2e-3, 16.9e-3),
    (33e-6, 71.923, 82.6e-6, 9.26e-3, 14.5e-3),
    (33e-6, 76.686, 36.7e-6, 3.96e-3, 10.5e-3),
)


def puma() -> Found:
    """The measured bodies, the unphysical ones repaired; friction and rotors at the joints."""
    robot = casid.load_robot("puma560")
    standard = np.concatenate([casid.inertia.to_standard(m, np.array(c), np.diag(i)) for m, c, i in _PUMA])
    done = repair(description_of(robot.with_parameters(standard)))
    terms: dict[str, float] = {}
    for k, (inertia, ratio, viscous, up, down) in enumerate(_PUMA_DRIVES, start=1):
        terms |= {f"fv{k}": viscous * ratio**2, f"fcp{k}": up * ratio, f"fcn{k}": down * ratio}
        terms[f"Ia{k}"] = inertia * ratio**2
    names = tuple(link.name for link in robot.links)
    wrong = ", ".join(body.link for body in done.unphysical)
    verdict = f"{done.verdict}: {wrong} as printed cannot exist and are repaired, base parameters unchanged"
    return Found(robot.with_parameters(Parameters.of_links(done.repaired.ravel(), names, terms)), verdict)


def emps() -> Found:
    """Mass and friction of the axis, as printed: IDIM-LS."""
    mass, viscous, dry, offset = PUBLISHED_EMPS.tolist()
    robot = one_joint("emps", "prismatic", mass, "0 0 0", "1 0 0")
    body = casid.inertia.to_standard(mass, np.zeros(3), 0.1 * mass * np.eye(3))  # a cart's; without effect
    terms = {"fv1": viscous, "fc1": dry, "fo1": offset}
    made = robot.with_parameters(Parameters.of_links(body, ("load",), terms))
    return Found(made, "as printed; of the body only the mass has an effect")


PAPERS: dict[str, Callable[[], Found]] = {
    "panda_gaz_re": panda_re,
    "panda_gaz_cls": partial(panda_column, "CLS"),
    "panda_gaz_osi": partial(panda_column, "OSI"),
    "panda_gaz_p_hat": panda_bodies,
    "wam_sousa_wls": partial(wam, "beta_prime_WLS"),
    "wam_sousa_constrained": partial(wam, "beta_star_WLS"),
    "wam_sousa_bounded": partial(wam, "beta_star_e_WLS"),
    "puma560_armstrong": puma,
    "emps_janot": emps,
}
