"""One step of a branch as a graph: law of servos and drives, memory of friction and integral, modes, derivatives.

With the modes of a step given (whether and which way dry friction slides: -1, 0, 1; whether a torque is limited: -1, 0,
1; on which side of its play a joint is: -1, 0, 1) the step is smooth, and affine in the velocity after it. CasADi
differentiates it; the loop over steps with the switch of modes is ``rollout.c``, the equations stand in
`casid.drives._rollout`.

Coordinates: links first, then drives, where springs are between them. State: positions, velocities, then the torques of
bristles and integrals, where the case has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from casid.arrays import Array
from casid.description import Robot
from casid.drives._servo import KINDS, STIFF
from casid.dynamics import Model
from casid.dynamics.terms import Dahl, stribeck_fade

#: Joints are rigid, or elastic with encoders at the link or at the drive.
RIGID, LINK, DRIVE = 0, 1, 2
#: Stiffness of contacts without rebound, in units of the drive's inertia over the square of the step, and the least
#: inertia that counts [kg.m^2]: contacts then close within a hundredth of what a step moves, far above rounding.
_CONTACT, _LEAST_INERTIA = 1e4, 1e-6
#: Least torque of sliding that bristles are measured by [N.m]: a division by zero otherwise.
_LEAST_GRIP = 1e-9
#: Bristles hold a joint from the start up to this share of what lets it slide, where their state is still defined.
_HELD = 0.99


class Case(NamedTuple):
    """What a step has beside the plain law, which costs less without.

    Attributes
    ----------
    encoder : int
        `RIGID`, `LINK` or `DRIVE`.
    faded, bristled, wound : bool
        Whether friction fades with speed or time, has a memory, and whether servos have an integral.
    """

    encoder: int = RIGID
    faded: bool = False
    bristled: bool = False
    wound: bool = False


def link_motion(robot: Robot, joints: Sequence[int]) -> ca.Function:
    """``(q, v, a, p) -> M, tau``: mass matrix and torque of some joints' motion, p with factors of bodies and tilt."""
    model, L, chosen = Model(robot, gravity="input"), len(joints), list(joints)
    table, pi = ca.SX.sym("p", len(KINDS), L), ca.SX(ca.DM(robot.standard_parameters()))
    for place, k in enumerate(joints):
        pi[10 * k : 10 * k + 10] *= table[KINDS.index("scale"), place]
    gravity = _tilted(robot.gravity, table[[KINDS.index("tilt_x"), KINDS.index("tilt_y")], 0])
    given = [ca.SX.sym(name, L) for name in ("q", "v", "a")]
    whole = [ca.SX(model.n, 1) for _ in given]
    for full, part in zip(whole, given, strict=True):
        full[chosen] = part
    outputs = [model.mass_matrix(whole[0], pi)[chosen, chosen], model.inverse_dynamics(*whole, pi, gravity)[chosen]]
    return ca.Function("bodies", [*given, ca.vec(table)], outputs)


class Step:
    """Graphs of one branch.

    Parameters
    ----------
    bodies
        From `link_motion`.
    case
        What the law has.
    """

    def __init__(self, bodies: ca.Function, case: Case) -> None:
        self.bodies, self.case, self.L = bodies, case, bodies.size1_in(0)
        L = self.L
        self.N = N = 2 * L if case.encoder else L
        self.memory = L * (case.bristled + case.wound)
        given = {"M": (N, N), "b": (N, 1), "y": (2 * N + self.memory, 1), "n": (N, 1), "p": (L * len(KINDS), 1),
                 "h": (1, 1), "u": (L, 1), "du": (L, 1), "on": (L, 1), "push": (L, 1), "clock": (1, 1),
                 "slides": (N, 1), "modes": (2 * L, 1)}  # fmt: skip
        self._given = {name: ca.SX.sym(name, *shape) for name, shape in given.items()}
        self._load = ca.SX.sym("load", L)

    def _joint(self, j: int, **changed: ca.SX) -> dict[str, ca.SX]:
        """Quantities of one joint by name."""
        g, L = {**self._given, **changed}, self.L
        d, q, v, memory = self.N - L + j, g["y"][: self.N], g["y"][self.N : 2 * self.N], g["y"][2 * self.N :]
        s = {name: g[name][0 if name in ("h", "clock") else j] for name in ("h", "u", "on", "push", "clock")}
        s |= {f"p_{kind.lower()}": g["p"][j * len(KINDS) + k] for k, kind in enumerate(KINDS)}
        s |= {"q": q[d], "v": v[d], "n": g["n"][d], "link": q[j], "v_link": v[j], "n_link": g["n"][j]}
        s |= {"seen": s["link" if self.case.encoder == LINK else "q"], "slides": g["slides"][d], "load": self._load[j]}
        s |= {"w": memory[j] if self.case.bristled else ca.SX(0), "z": memory[j - L] if self.case.wound else ca.SX(0)}
        return s | {"limited": g["modes"][j], "side": g["modes"][L + j]}

    def _motion(self, q: ca.SX, v: ca.SX, a: ca.SX | None = None) -> tuple[ca.SX, ca.SX]:
        """Mass matrix of the coordinates and their torques of motion; drives have no bodies."""
        L, rest = self.L, ca.SX(self.N - self.L, 1)
        M, torque = self.bodies(q[:L], v[:L], ca.SX(L, 1) if a is None else a[:L], self._given["p"])
        return ca.diagcat(M, rest @ rest.T), ca.vertcat(torque, rest)

    def _function(self, name: str, outputs: Sequence[ca.SX]) -> ca.Function:
        load = self._given["b"][: self.L]
        made = [ca.densify(ca.substitute(one, self._load, load)) for one in outputs]
        return ca.Function(name, list(self._given.values()), made, {"cse": True})

    @cached_property
    def _laws(self) -> tuple[list[dict[str, ca.SX]], ca.SX]:
        """Quantities and torques of the joints by name, and the memory after the step."""
        made = [self._joint(j) for j in range(self.L)]
        after = [_remembered(s, self.case.faded) for s in made]
        memory = [x for x, _ in after if self.case.bristled] + [x for _, x in after if self.case.wound]
        return [s | _torques(s, self.case) for s in made], ca.vcat(memory)

    @cached_property
    def _torque(self) -> tuple[ca.SX, ca.SX]:
        """Torques of all coordinates without dry friction, and its levels."""
        laws, rest = self._laws[0], self.N - self.L
        torques = [s["passed"] for s in laws][:rest] + [s["torque"] for s in laws]
        return ca.vcat(torques), ca.vertcat(ca.SX(rest, 1), *(s["level"] for s in laws))

    @cached_property
    def functions(self) -> tuple[ca.Function, ...]:
        """Graphs that the loop calls, all of ``(M, b, y, n, p, h, u, du, on, push, clock, slides, modes)``.

        M, b: mass matrix and torques of motion; y: state; n: velocities after the step; p: parameters of all joints;
        then length, commands and their derivatives in the delay, gains, known torques, clock. ``motion`` -> M, b.
        ``law`` -> H, r, level: ``H n = r - h f`` with dry friction ``|f| <= level``. ``switch`` -> modes that n asks
        for. ``slopes`` -> derivatives of ``r - H n - h f`` in y and of the memory after the step in (y, n), by rows,
        and the nonzeros of those in p (`places`). ``next`` -> memory after the step. ``start`` -> state and modes at
        the first sample, and which joints stick, y being what encoders show of it, and how far what they do not show is
        from rest under the load.
        """
        g, N, L, (laws, memory), (torque, level) = self._given, self.N, self.L, self._laws, self._torque
        M, b, y, n, h = (g[name] for name in ("M", "b", "y", "n", "h"))
        still, slope = ca.substitute(torque, n, ca.SX.zeros(N)), ca.jacobian(torque, n)
        modes = [_side(s["asked"], s["p_limit"]) for s in laws]
        modes += [ca.if_else(s["p_gap"] > 0, _side(s["spring"], s["edge"]), 1) for s in laws]
        y0, side = self._start
        dry = ca.vertcat(ca.SX(N - L, 1), *(_exact(s) for s in laws))
        slides = dry * ca.sign(y0[N : 2 * N])
        graphs = {
            "motion": self._motion(y[:N], y[N : 2 * N]),
            "law": (M - h * slope, M @ y[N : 2 * N] + h * (still - b), level),
            "switch": (ca.vcat(modes),),
            "slopes": self._slopes[:2],
            "next": (memory,),
            "start": (y0, slides, dry * (slides == 0), ca.vertcat(ca.SX(L, 1), side)),
        }
        return tuple(self._function(name, graph) for name, graph in graphs.items())

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Rows and columns of the derivatives in p that ``slopes`` has: forces and memory, parameters of all joints."""
        return np.array(self._slopes[2].get_triplet())

    @cached_property
    def _slopes(self) -> tuple[ca.SX, ca.SX, ca.Sparsity]:
        """Derivatives of forces and memory; the links' torque in a load is that at a constant acceleration."""
        g, N, L, a, (torque, level) = self._given, self.N, self.L, ca.SX.sym("a", self.N), self._torque
        y, n, h = (g[name] for name in ("y", "n", "h"))
        rows = ca.vertcat(h * (torque - g["slides"] * level), self._laws[1])
        by_load, motion, made = ca.jacobian(rows, self._load), self._motion(y[:N], y[N : 2 * N], a)[1], {}
        for name in ("y", "p"):
            by_motion = ca.substitute(ca.jacobian(motion, g[name]), a, (n - y[N : 2 * N]) / h)
            made[name] = ca.jacobian(rows, g[name]) + by_load @ by_motion[:L, :]
            made[name][:N, :] -= h * by_motion
        made["y"][:N, N : 2 * N] += g["M"]
        self._delayed(rows, made["p"])
        whole = ca.horzcat(made["y"], ca.vertcat(ca.SX(N, N), ca.jacobian(self._laws[1], n)))
        return ca.vec(ca.densify(whole).T), made["p"].nz[:], made["p"].sparsity()

    def _delayed(self, rows: ca.SX, in_p: ca.SX) -> None:
        """Add derivatives in the delay, which acts through the command."""
        for j in range(self.L):
            change = ca.jacobian(rows, self._given["u"][j]) * self._given["du"][j]
            in_p[:, j * len(KINDS) + KINDS.index("delay")] += change

    @cached_property
    def _start(self) -> tuple[ca.SX, ca.SX]:
        """State at the first sample, and the sides of the joints in their play.

        Springs rest under the load; an integral or else bristles hold the motion.
        """
        g, L, encoder = self._given, self.L, self.case.encoder
        parts = ca.vertsplit(g["y"][: 2 * self.N], L)
        q, v = parts[:2]
        still, side = self._motion(q, v)[1][:L], ca.SX.ones(L)
        if encoder:
            kj, gap = (ca.reshape(g["p"], len(KINDS), L)[KINDS.index(kind), :].T for kind in ("kj", "gap"))
            side = ca.if_else(still > 0, 1, -1)
            apart = side * gap / 2 + ca.if_else(kj <= STIFF, still / kj, 0)
            hidden = q + parts[2] + (apart if encoder == LINK else -apart), v + parts[3]
            ends = ((q, v), hidden) if encoder == LINK else (hidden, (q, v))
            q, v = (ca.vertcat(*pair) for pair in zip(*ends, strict=True))
        held = [_held(self._joint(j, y=ca.vertcat(q, v, ca.SX(self.memory, 1)))) for j in range(L)]
        memory = [bent * (not self.case.wound) for bent, _ in held if self.case.bristled]
        memory += [wound for _, wound in held if self.case.wound]
        return ca.substitute(ca.vertcat(q, v, *memory), self._load, self._motion(q, v)[1][:L]), side

    @cached_property
    def start_slopes(self) -> ca.Function:
        """Derivatives of ``start`` in the columns of (y, p), all inputs but the state, p, u and those after in one."""
        g, y = self._given, self._start[0]
        in_p = ca.jacobian(y, g["p"])
        self._delayed(y, in_p)
        inputs = ca.vertcat(*(g[name] for name in ("y", "p", "u", "du", "on", "push", "clock")))
        made = ca.densify(ca.horzcat(ca.jacobian(y, g["y"][: 2 * self.N]), in_p))
        return ca.Function("start_slopes", [inputs], [made], {"cse": True})


def tilted_gravity(gravity: Array, tilt: Array) -> Array:
    """Gravity in the frame of a base that is tilted by `Servo.tilt_x`, `Servo.tilt_y`, shape (3,)."""
    return np.asarray(ca.evalf(_tilted(gravity, ca.SX(ca.DM(tilt))))).ravel()


def _tilted(gravity: Array, tilt: ca.SX) -> ca.SX:
    """Gravity in the frame of a base that is tilted: ``|g| d / |d|`` with ``d = g + g x (t1 e1 + t2 e2)``.

    e1, e2: the two base axes least along gravity, made perpendicular to it; t: tangents of the angles.
    """
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return ca.SX(ca.DM(gravity))
    down = np.asarray(gravity, dtype=float) / size
    d = ca.SX(ca.DM(down))
    for place, k in enumerate(sorted(np.argsort(np.abs(down), kind="stable")[:2].tolist())):
        axis = np.eye(3)[k] - down[k] * down
        d += tilt[place] * ca.DM(np.cross(down, axis / np.linalg.norm(axis)))
    return size * d / ca.norm_2(d)


def _side(value: ca.SX, edge: ca.SX) -> ca.SX:
    """1 or -1 where a value is beyond an edge on that side, else 0."""
    return (value > edge) - (value < -edge)


def _positive(x: ca.SX) -> ca.SX:
    """The larger of x and 0; at 0, a bound of parameters, the derivative is that towards what is allowed."""
    return ca.if_else(x < 0, 0, x)


def _level(s: Mapping[str, ca.SX], faded: bool = True) -> tuple[ca.SX, ca.SX]:
    """Dry friction of sliding, and the factor of a drive that is not warm yet."""
    warm = 1 + s["p_warm"] * ca.exp(-s["clock"] / s["p_tw"]) if faded else ca.SX(1)
    slow = s["p_fs"] * stribeck_fade(s["v"], s["p_vs"]) if faded else 0
    return _positive(warm * (s["p_fc"] + s["p_fl"] * ca.fabs(s["load"]) + slow)), warm


def _bristles(s: Mapping[str, ca.SX], faded: bool = True) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Whether dry friction has a memory, the stiffness of its bristles (0: it has none), their torque of sliding."""
    bent = ca.logic_and(s["p_bristle"] <= STIFF, s["p_fc"] + s["p_fl"] + s["p_fs"] > 0)
    return bent, ca.if_else(bent, s["p_bristle"], 0), ca.fmax(_level(s, faded)[0], _LEAST_GRIP)


def _exact(s: Mapping[str, ca.SX]) -> ca.SX:
    """Whether a joint has dry friction without memory."""
    return ca.logic_and(s["p_bristle"] > STIFF, s["p_fc"] + s["p_fl"] + s["p_fs"] > 0)


def _viscous(s: Mapping[str, ca.SX]) -> ca.SX:
    return _positive(s["p_fv"] + ca.sign(s["v"]) * s["p_fva"])


def _constant(s: Mapping[str, ca.SX]) -> ca.SX:
    return s["p_fo"] + s["p_fod"] * s["clock"]


def _error(s: Mapping[str, ca.SX]) -> ca.SX:
    return s["on"] * (s["u"] + s["p_bias"] - s["seen"])


def _within(s: Mapping[str, ca.SX]) -> ca.SX:
    return ca.fmax(ca.fmin(_error(s), s["p_duty"]), -s["p_duty"])


def _torques(s: Mapping[str, ca.SX], case: Case) -> dict[str, ca.SX]:
    """Torque without dry friction, its level, the torque that is asked for; of the spring, what it passes, its end."""
    h, v, n = s["h"], s["v"], s["n"]
    mean, limited, enabled = (v + n) / 2, s["limited"] != 0, s["on"] != 0
    asked = s["p_kp"] * _within(s) + s["z"] - (s["on"] * s["p_kd"] + enabled * s["p_emf"]) * mean
    level, warm = _level(s, case.faded)
    torque = ca.if_else(limited, enabled * s["limited"] * s["p_limit"], asked) + s["push"] - _constant(s)
    torque -= warm * _viscous(s) * mean + s["p_ia"] * (n - v) / h
    if case.bristled:
        bent, stiffness, grip = _bristles(s, case.faded)
        give = _positive(1 - ca.sign(v) * s["w"] / grip)
        torque -= ca.if_else(bent, s["w"] + give * (stiffness * h / 4 * (n - v) + s["p_micro"] * mean), 0)
        level = ca.if_else(bent, 0, level)
    elastic = s["p_kj"] <= STIFF
    k = ca.if_else(elastic, s["p_kj"], _CONTACT * ca.fmax(s["p_ia"], _LEAST_INERTIA) / h**2)
    trapezoid = h / 4 * (n - v - s["n_link"] + s["v_link"])
    contact = k * h * (n - s["n_link"])
    damped = k * trapezoid + s["p_dj"] * (mean - (s["v_link"] + s["n_link"]) / 2)
    spring = k * (s["q"] - s["link"]) + ca.if_else(elastic, damped, contact)
    side, edge = ca.if_else(s["p_gap"] > 0, s["side"], 1), k * s["p_gap"] / 2
    passed = ca.if_else(side != 0, spring - side * edge, 0) if case.encoder else ca.SX(0)
    words = {"asked": asked, "level": level, "spring": spring, "edge": edge}
    return {"torque": torque - passed, "passed": passed, **words}


def _remembered(s: Mapping[str, ca.SX], faded: bool) -> tuple[ca.SX, ca.SX]:
    """Torques of bristles, by the exact step of a constant velocity, and of the servo's integral after the step."""
    bent, stiffness, grip = _bristles(s, faded)
    w = grip * Dahl().evolve(s["w"] / grip, stiffness * s["h"] * s["n"] / grip, s["h"], [1])
    wound = s["z"] + ca.if_else(s["limited"] == 0, s["h"] * s["p_ki"] * _within(s), 0)
    return ca.if_else(bent, w, s["w"]), ca.if_else(s["on"] != 0, wound, 0)


def _held(s: Mapping[str, ca.SX]) -> tuple[ca.SX, ca.SX]:
    """Torques of bristles and integral that hold the motion at the first sample, friction at rest aside."""
    damping = _viscous(s) + s["on"] * s["p_kd"] + s["p_emf"]
    servo = s["p_kp"] * _error(s) + s["push"]
    wound = ca.if_else(s["on"] != 0, s["load"] + _constant(s) + damping * s["v"] - servo, 0)
    rest, level = servo - _constant(s) - s["load"], _level(s)[0]
    slides = ca.if_else(s["v"] != 0, ca.sign(s["v"]), _HELD * ((rest > _HELD * level) - (rest < -_HELD * level)))
    bent = ca.if_else(slides != 0, slides * level, rest)
    return ca.if_else(_bristles(s)[0], bent, 0), wound
