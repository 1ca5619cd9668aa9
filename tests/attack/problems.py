"""Random problems that a known, physically consistent truth meets, with their own evaluation in numpy."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from casid.description import Joint, Link, Robot
from casid.errors import ProblemError
from casid.expressions import conditions
from casid.retrieval import (
    Constraint,
    LeastSquares,
    Problem,
    com_box,
    inertia_bounds,
    link_variables,
    mass_bounds,
    total_mass,
)
from casid.retrieval.constraints import gyration_bound
from tests.attack.formulas import CALLS, CONVEX, DOMAINS, PIECEWISE, SMOOTH, STEPS, Formula, Scene
from tests.attack.quantities import (
    CasadiFunctions,
    NumpyFunctions,
    in_casadi,
    in_numpy,
    pseudo_inertias,
    spatial_inertias,
)

_ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
KINDS = (
    "convex", "smooth", "piecewise", "mixed", "soft", "semi", "extras", "thin", "units", "many", "free", "calls",
    "domains", "labels", "loose", "objectives",
)  # fmt: skip


def round_of(seed: int) -> int:
    """How often the kind of this seed was drawn before."""
    return seed // len(KINDS)


@dataclass(frozen=True, eq=False)
class Bound:
    """A constraint in numpy: ``lower <= value <= upper``; ``weight`` where it is soft."""

    label: str
    formula: Formula
    lower: float
    upper: float
    weight: float | None = None


@dataclass(frozen=True, eq=False)
class Attack:
    """A problem, a point that meets it, and what both are worth by the attacker's own reckoning."""

    seed: int
    kind: str
    problem: Problem
    truth: np.ndarray
    bounds: tuple[Bound, ...]
    cones: tuple[str, ...]
    margin: float
    extras: np.ndarray
    scale: np.ndarray
    fit: LeastSquares
    own: Formula | None = None

    @property
    def links(self) -> int:
        return len(self.cones)

    @property
    def round(self) -> int:
        """How often its kind was drawn before: what else varies follows this, so that every kind meets all of it."""
        return round_of(self.seed)

    def values(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Values of all constraints at points x, shape (N, B)."""
        quantities = in_numpy(x, self.links)
        with np.errstate(all="ignore"):
            return {
                b.label: np.broadcast_to(np.asarray(b.formula(NumpyFunctions, quantities), float), x.shape[1:])
                for b in self.bounds
            }

    def violations(self, x: np.ndarray) -> np.ndarray:
        """Largest violation of hard constraints, cones and extras' bounds at points x, shape (N, B) -> (B,)."""
        worst, values = np.zeros(x.shape[1]), self.values(x)
        for b in self.bounds:
            if b.weight is None:
                worst = np.maximum(worst, np.maximum(b.lower - values[b.label], values[b.label] - b.upper))
        for k, kind in enumerate(self.cones):
            if kind != "none":
                matrices = pseudo_inertias(x, k) if kind == "full" else spatial_inertias(x, k)
                broken = ~np.isfinite(matrices).all(axis=(1, 2))
                smallest = np.linalg.eigvalsh(np.where(broken[:, None, None], 0.0, matrices))[:, 0]
                worst = np.maximum(worst, np.where(broken, np.inf, self.margin - smallest))
        own = x[10 * self.links :]
        if len(own):
            worst = np.maximum(worst, (self.extras[:, :1] - own).max(axis=0))
            worst = np.maximum(worst, (own - self.extras[:, 1:]).max(axis=0))
        return np.where(np.isnan(worst), np.inf, worst)

    @property
    def rounding(self) -> float:
        """What a value of the objective is uncertain by."""
        return 1e-13 * (float(self.fit.target @ self.fit.target) + abs(self.problem.objective.constant) + 1e-300)

    def squares(self, x: np.ndarray) -> np.ndarray:
        """Objective, soft constraints aside, at points x, shape (N, B) -> (B,); infinite where it is undefined."""
        residual = self.fit.matrix @ x - self.fit.target[:, None]
        total = (residual**2).sum(axis=0) + self.fit.constant
        if self.own is not None:
            with np.errstate(all="ignore"):
                total = total + np.asarray(self.own(NumpyFunctions, in_numpy(x, self.links)), dtype=float)
        return np.where(np.isnan(total), np.inf, total)

    def totals(self, x: np.ndarray) -> np.ndarray:
        """Sum of squares and price of soft violations at points x, shape (N, B) -> (B,)."""
        total, values = self.squares(x), self.values(x)
        for b in self.bounds:
            if b.weight is not None:
                excess = np.maximum(np.maximum(b.lower - values[b.label], values[b.label] - b.upper), 0.0)
                total = total + b.weight * excess
        return np.where(np.isnan(total), np.inf, total)


def random_body(rng: np.random.Generator, mass: float, length: float) -> np.ndarray:
    """Ten parameters of a cloud of point masses: fully consistent, seldom round."""
    points = rng.normal(size=(8, 3)) * length * rng.uniform(0.3, 1.0, 3) + rng.normal(size=3) * length
    weights = rng.dirichlet(np.ones(8)) * mass
    L = sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for w, p in zip(weights, points, strict=True))
    moment = weights @ points
    return np.array([L[0, 0], L[0, 1], L[0, 2], L[1, 1], L[1, 2], L[2, 2], *moment, mass])


def flat_body(rng: np.random.Generator, mass: float, length: float) -> np.ndarray:
    """Ten parameters with positive inertia that violates the triangle inequality: only semi-consistent."""
    moments = mass * length**2 * np.array([1.0, 1.0, rng.uniform(2.1, 4.0)])
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    c = rng.normal(size=3) * length
    L = R @ np.diag(moments) @ R.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([L[0, 0], L[0, 1], L[0, 2], L[1, 1], L[1, 2], L[2, 2], *(mass * c), mass])


def make(seed: int, kind: str | None = None) -> Attack:
    """The problem of a seed."""
    rng = np.random.default_rng([9, seed])
    kind = KINDS[seed % len(KINDS)] if kind is None else kind
    n = {"many": int(rng.choice([5, 6, 7, 8, 20])), "units": int(rng.integers(2, 4))}.get(kind, int(rng.integers(1, 4)))
    length, mass = np.full(n, 0.1), rng.uniform(0.5, 10.0, n)
    if kind == "units":
        mass, length = 10.0 ** rng.uniform(-3, 6, n), 10.0 ** rng.uniform(-3, 0.5, n)
    elif rng.random() < 0.3:
        mass, length = mass * 10.0 ** rng.uniform(-2, 2), length * 10.0 ** rng.uniform(-1, 1)
    names = [f"e{k}" for k in range(int(rng.integers(1, 4)))] if kind == "extras" or rng.random() < 0.1 else []
    if kind == "labels":
        names = ["(lx1/m1)", "either_or 0 >= 0", "(m1<3) is true"][: int(rng.integers(1, 4))]
    limits = np.array([[[0.0, np.inf], [-np.inf, np.inf], [-1.0, 2.0]][int(rng.integers(3))] for _ in names])
    limits = limits.reshape(-1, 2)
    cones = n * ({"semi": "semi", "free": "none"}.get(kind, "full"),)
    bodies = [(flat_body if c != "full" and rng.random() < 0.5 else random_body)(rng, m, s)
              for c, m, s in zip(cones, mass, length, strict=True)]  # fmt: skip
    bodies = [-b if c == "none" and rng.random() < 0.4 else b for c, b in zip(cones, bodies, strict=True)]
    truth = np.concatenate([*bodies, rng.uniform(0.0, 1.5, len(names))])
    robot = Robot(f"attack{seed}", tuple(Joint(f"j{k + 1}", "revolute", k - 1, Link(f"link{k + 1}")) for k in range(n)))
    variables = link_variables(robot, {name: tuple(limit) for name, limit in zip(names, limits, strict=True)})
    scene = Scene(mass, length, in_numpy(truth, n))
    scale = np.concatenate(
        [*(m * s ** np.repeat([2, 1, 0], [6, 3, 1]) for m, s in zip(mass, length, strict=True)), np.ones(len(names))]
    )
    own, bounds = _physical_bounds(rng, kind, variables, scene, truth)
    more, hostile = _hostile(rng, kind, variables, scene, truth)
    smallest = min(
        (float(np.linalg.eigvalsh((pseudo_inertias if c == "full" else spatial_inertias)(truth[:, None], k))[0, 0])
         for k, c in enumerate(cones) if c != "none"), default=1.0,
    )  # fmt: skip
    margin = float(min(1e-6, smallest * rng.choice([0.01, 0.5, 0.999])))
    fit = _objective(rng, truth, scale, n, mass, length, names)
    constraints = {"constraints": (*own, *more), "consistency": cones[0], "margin": margin}
    problem, formula = Problem(f"attack{seed}", variables, fit, **constraints), None
    if kind == "objectives":
        fit, formula, problem = _other_objective(rng, problem, fit, scene, constraints)
    return Attack(seed, kind, problem, truth, (*bounds, *hostile), cones, margin, limits, scale, fit, formula)


def _other_objective(rng, problem, fit, scene, constraints):
    """A fit, a formula that is added to it, and the problem that minimises both; the first formula that is bounded."""
    variables = problem.variables
    if rng.random() < 0.3:
        fit = LeastSquares(np.zeros((0, variables.size)), np.zeros(0))
    squares = ca.sumsqr(ca.DM(fit.matrix) @ variables.x - ca.DM(fit.target)) + fit.constant
    pool = (*CONVEX, *CONVEX, *SMOOTH, *PIECEWISE, *CALLS, *DOMAINS)
    for _ in range(8):
        formula, weight = pool[int(rng.integers(len(pool)))](rng, scene), 10.0 ** rng.uniform(-3, 2)

        def own(f, q, formula=formula, weight=weight):
            return weight * formula(f, q)

        with np.errstate(all="ignore"):
            if not np.isfinite(float(own(NumpyFunctions, scene.truth))):
                continue
        try:
            made = Problem(problem.name, variables, squares + own(CasadiFunctions, in_casadi(variables)), **constraints)
        except ProblemError:
            continue
        return fit, own, made
    return problem.objective, None, problem


def _objective(rng, truth, scale, n, mass, length, names) -> LeastSquares:
    size = len(truth)
    rows = int(rng.choice([max(size // 3, 1), max(size // 2, 1), size, size + 5]))
    matrix = rng.normal(size=(rows, size)) / scale
    if rng.random() < 0.3:
        matrix *= 10.0 ** rng.uniform(-3, 1, size)
    elsewhere = np.concatenate(
        [*(random_body(rng, m, s) for m, s in zip(mass, length, strict=True)), rng.normal(size=len(names))]
    )
    share = float(rng.choice([0.0, 0.05, 1.0]))
    target = matrix @ (truth + share * (elsewhere - truth)) + rng.normal(size=rows) * float(rng.choice([0.0, 0.1, 2.0]))
    return LeastSquares.compressed(matrix, target)


def _entry(k: int, i: int, j: int) -> Formula:
    return lambda f, q: q.links[k].I[i][j]


def _room(rng: np.random.Generator, kind: str = "") -> float:
    return float(rng.choice([3.0, 1e3, 1e6, 1e9] if kind == "loose" else [0.0, 1e-3, 0.1, 0.5, 3.0]))


def _physical_bounds(rng, kind, variables, scene, truth):
    """Bounds that a robot's description gives, with the truth within."""
    constraints, bounds = [], []
    bare = 0.5 if kind in ("free", "loose") else 0.15
    for k, link in enumerate(variables.links):
        m, s, body = scene.mass[k], scene.length[k], scene.truth.links[k]
        if rng.random() > bare:
            low, high = (float(body.m) + sign * m * _room(rng, kind) for sign in (-1, 1))
            low = max(low, 0.0) if body.m > 0 else low
            constraints.append(mass_bounds(link, low, high))
            bounds.append(Bound(f"mass {k}", lambda f, q, k=k: q.links[k].m, low, high))
        if rng.random() > bare:
            c = np.array([float(v) for v in body.c])
            low, high = (c + sign * s * np.array([_room(rng, kind) for _ in c]) for sign in (-1, 1))
            if kind == "thin" and rng.random() < 0.7:
                low[1] = high[1] = c[1]
            constraints.append(com_box(link, low, high))
            for i in range(3):
                bounds.append(Bound(f"com {k}{i}", lambda f, q, k=k, i=i: q.links[k].c[i], low[i], high[i]))
        if rng.random() < 0.2:
            six = np.array([float(body.I[i][j]) for i in range(3) for j in range(i, 3)])
            size = m * s * s
            low, high = six - size * (0.01 + rng.random(6)), six + size * (0.01 + rng.random(6))
            constraints.append(inertia_bounds(link, low, high))
            for p, (i, j) in enumerate(_ENTRIES):
                formula = _entry(k, i, j)
                bounds.append(Bound(f"inertia {k}{i}{j}", formula, low[p], high[p]))
        if kind not in ("free", "loose") and rng.random() < 0.4:
            radius = np.sqrt(float(body.L[0][0] + body.L[1][1] + body.L[2][2]) / 2 / float(body.m)) * (1 + _room(rng))
            constraints.append(gyration_bound(link, radius * (1 + 1e-12)))
            reach = radius**2 * (1 + 1e-12) ** 2
            bounds.append(
                Bound(f"extent {k}", lambda f, q, k=k: sum(q.links[k].L[i][i] for i in range(3)) / 2 / q.links[k].m,
                      -np.inf, reach)
            )  # fmt: skip
    if rng.random() < 0.3:
        whole = float(truth[9 : 10 * len(variables) : 10].sum())
        low, high = whole - abs(whole) * min(_room(rng), 1.0), whole + abs(whole) * _room(rng)
        constraints.append(total_mass(variables, low, high))
        bounds.append(Bound("total mass", lambda f, q: sum(b.m for b in q.links), low, high))
    return constraints, bounds


def _hostile(rng, kind, variables, scene, truth):
    """Constraints of the kinds under attack, with the truth within."""
    pools = {
        "convex": CONVEX, "smooth": SMOOTH, "piecewise": PIECEWISE, "mixed": (*CONVEX, *SMOOTH, *PIECEWISE),
        "soft": (*CONVEX, *CONVEX, *SMOOTH, *PIECEWISE), "semi": (*CONVEX, *SMOOTH), "extras": (*CONVEX, *SMOOTH),
        "thin": (*CONVEX, *SMOOTH), "units": (*CONVEX, *SMOOTH), "many": (*CONVEX, *CONVEX, *SMOOTH),
        "free": CONVEX, "calls": (*CALLS, *CALLS, *CONVEX), "domains": (*DOMAINS, *DOMAINS, *SMOOTH),
        "labels": (*PIECEWISE, *CALLS), "objectives": (*CONVEX, *CONVEX, *SMOOTH),
        "loose": (*CONVEX, *SMOOTH, *PIECEWISE, *CALLS),
    }  # fmt: skip
    symbolic, true = in_casadi(variables), in_numpy(truth, len(variables))
    constraints, bounds = [], []
    for index in range(int(rng.integers(1, 4))):
        pool = pools[kind]
        maker = pool[int(rng.integers(len(pool)))]
        formula = maker(rng, scene)
        with np.errstate(all="ignore"):
            value = float(formula(NumpyFunctions, true))
        expression = formula(CasadiFunctions, symbolic)
        if not np.isfinite(value):
            continue
        room = 0.25 if maker in STEPS else max(_room(rng), 1e-12 * max(1.0, abs(value)))
        low, high = [(value - room, np.inf), (-np.inf, value + room), (value - room, value + room)][
            int(rng.choice([0, 0, 0, 1, 1, 2]))
        ]
        if kind == "thin" and maker in CONVEX and rng.random() < 0.5:
            low = high = value
        weight = float(10.0 ** rng.uniform(-2, 2)) if kind == "soft" and rng.random() < 0.7 else None
        if weight is not None:
            low, high = (value + room, np.inf) if rng.random() < 0.5 else (low, high)
        label = f"{maker.__name__} {index}"
        if kind == "labels":  # what the library might call something else
            texts = [c.text for c in conditions(expression, variables.x)]
            texts = [*texts, *(f"{t} is true" for t in texts), f"{variables[0].name} J", "cuts of the relaxation"]
            label = next((t for t in texts if t not in {b.label for b in bounds}), label)
        constraints.append(Constraint(label, expression, low, high, weight=weight))
        bounds.append(Bound(label, formula, low, high, weight))
    return constraints, bounds
