"""The law of one servo and drive as a graph: torques of a step, what friction and the integral remember, and slopes.

All quantities are those of one joint, with the modes of a step given: whether and which way its dry friction slides
(-1, 0, 1), whether its torque is limited (-1, 0, 1), on which side of its play it is (-1, 0, 1). With them the law is
smooth, and affine in the velocity after the step; CasADi differentiates it. The equations stand in
`casid.drives._rollout`, the switch of modes in `casid.drives._loop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from casid.drives._servo import KINDS, STIFF
from casid.dynamics.terms import Dahl, stribeck_fade

#: Inputs of a joint in a step: its length, command and its derivative in the delay, gain, known torque, clock.
DRIVE = ("h", "u", "du", "on", "push", "clock")
#: Modes of a joint in a step.
MODES = ("slides", "limited", "side")
#: Stiffness of contacts without rebound, in units of the drive's inertia over the square of the step, and the least
#: inertia that counts [kg.m^2]: contacts then close within a hundredth of what a step moves, far above rounding.
_CONTACT, _LEAST_INERTIA = 1e4, 1e-6
#: Least torque of sliding that bristles are measured by [N.m]: a division by zero otherwise.
_LEAST_GRIP = 1e-9
#: Bristles hold a joint from the start up to this share of what lets it slide, where their state is still defined.
_HELD = 0.99


@dataclass(frozen=True)
class JointLaw:
    """Graphs of one joint, and the layout of their arrays in C.

    Attributes
    ----------
    functions : tuple of Function
        ``law_k``: ``(x, p, drive, modes)`` -> torque at a velocity of zero after the step, its
        slope in that velocity, level of dry friction, torque that the servo asks for and its slope, of a sprung joint
        also torque of the spring, its slope and where the play ends. ``slopes_k``: ``(x, n, p, drive, modes)`` ->
        derivatives of the torque (with memory also of `next_k`) in ``(x, p, n)``, row by row. ``next_k``: bristles and
        integral after the step. ``start``: what a spring, the integral and bristles are at the first sample, and their
        derivatives. x: state of the joint and the torque of its links; n: velocity after the step. k: whether friction
        fades with speed or time (1), and whether there are bristles or an integral (2): a law without costs less.
    words : mapping of str to int
        Sizes and places of these arrays.
    """

    functions: tuple[ca.Function, ...]
    words: Mapping[str, int]


def joint_law(sprung: bool) -> JointLaw:
    """The law of a rigid joint, or of one whose drive has a coordinate of its own."""
    names = ("seen", "q", "link", "v", "v_link", "w", "z", "load") if sprung else ("q", "v", "w", "z", "load")
    copies = 2 if sprung else 1
    groups = {
        "x": names, "n": ("n", "n_link")[:copies], "p": tuple(f"p_{kind.lower()}" for kind in KINDS), "drive": DRIVE,
        "modes": MODES,
    }  # fmt: skip
    inputs = {name: ca.SX.sym(name, len(words)) for name, words in groups.items()}
    s = {word: inputs[name][k] for name, words in groups.items() for k, word in enumerate(words)}
    s.setdefault("seen", s["q"])
    n = inputs["n"]

    def derivatives(values: ca.SX) -> ca.SX:
        """In x, p and the drive's velocity, row by row; the delay acts through the command."""
        in_p = ca.jacobian(values, inputs["p"])
        in_p[:, KINDS.index("delay")] += ca.jacobian(values, s["u"]) * s["du"]
        whole = ca.horzcat(ca.jacobian(values, inputs["x"]), in_p, ca.jacobian(values, n[0]))
        return ca.densify(ca.vec(whole.T))

    def function(name: str, *outputs: ca.SX) -> ca.Function:
        used = list(inputs) if ca.depends_on(ca.vertcat(*outputs), n) else [k for k in inputs if k != "n"]
        made = [ca.densify(ca.vertcat(*outputs))]
        return ca.Function(name, [inputs[k] for k in used], made, used, ["made"], {"cse": True})

    functions = []
    for number, (faded, memory) in enumerate(((False, False), (True, False), (False, True), (True, True))):
        torque, dry, asked, spring, edge = _torques(s, faded, memory, sprung)
        after = _remembered(s, faded)
        still = ca.substitute(ca.vertcat(torque, asked, spring), n, ca.SX.zeros(copies))
        parts = [still[:copies], ca.vec(ca.jacobian(torque, n).T), dry, still[copies], ca.jacobian(asked, n[0])]
        functions.append(function(f"law_{number}", *parts, still[copies + 1], ca.jacobian(spring, n[0]), edge))
        torque[0] -= s["slides"] * dry
        functions.append(function(f"slopes_{number}", derivatives(ca.vertcat(torque, after) if memory else torque)))
        functions += [function(f"next_{number}", after)] if memory else []
    start = _start(s)
    functions.append(function("start", start, derivatives(start)))
    places = ("TORQUE", "TORQUE_LINK", "SLOPE", "SLOPE_LINK", "DRY", "ASKED", "ASKED_SLOPE", "SPRING", "SPRING_SLOPE",
              "EDGE")  # fmt: skip
    sizes = (1, copies - 1, copies, copies * (copies - 1), 1, 1, 1, 1, 1, 1)
    words = {word: sum(sizes[:k]) for k, word in enumerate(places)}
    more = {"LAW": sum(sizes), "LOCALS": len(names) - 1, "WIDTH": len(names) + len(KINDS) + 1, "COPIES": copies}
    return JointLaw(tuple(functions), words | more | {f"AT_{word.upper()}": k for k, word in enumerate(DRIVE)})


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
    bent = ca.logic_and(s["p_bristle"] < STIFF, s["p_fc"] + s["p_fl"] + s["p_fs"] > 0)
    return bent, ca.if_else(bent, s["p_bristle"], 0), ca.fmax(_level(s, faded)[0], _LEAST_GRIP)


def _viscous(s: Mapping[str, ca.SX]) -> ca.SX:
    return _positive(s["p_fv"] + ca.sign(s["v"]) * s["p_fva"])


def _constant(s: Mapping[str, ca.SX]) -> ca.SX:
    return s["p_fo"] + s["p_fod"] * s["clock"]


def _error(s: Mapping[str, ca.SX]) -> ca.SX:
    return s["on"] * (s["u"] + s["p_bias"] - s["seen"])


def _within(s: Mapping[str, ca.SX]) -> ca.SX:
    return ca.fmax(ca.fmin(_error(s), s["p_duty"]), -s["p_duty"])


def _torques(s: Mapping[str, ca.SX], faded: bool, memory: bool, sprung: bool) -> tuple[ca.SX, ...]:
    """Torques without dry friction, its level, the torque that is asked for, that of the spring and where it ends."""
    h, v, n = s["h"], s["v"], s["n"]
    mean, limited, enabled = (v + n) / 2, s["limited"] != 0, s["on"] != 0
    asked = s["p_kp"] * _within(s) + s["z"] - (s["on"] * s["p_kd"] + enabled * s["p_emf"]) * mean
    level, warm = _level(s, faded)
    torque = ca.if_else(limited, enabled * s["limited"] * s["p_limit"], asked) + s["push"] - _constant(s)
    torque -= warm * _viscous(s) * mean + s["p_ia"] * (n - v) / h
    if memory:
        bent, stiffness, grip = _bristles(s, faded)
        give = _positive(1 - ca.sign(v) * s["w"] / grip)
        torque -= ca.if_else(bent, s["w"] + give * (stiffness * h / 4 * (n - v) + s["p_micro"] * mean), 0)
        level = ca.if_else(bent, 0, level)
    if not sprung:
        return torque, level, asked, ca.SX(1, 1), ca.SX(1, 1)
    elastic = s["p_kj"] < STIFF
    k = ca.if_else(elastic, s["p_kj"], _CONTACT * ca.fmax(s["p_ia"], _LEAST_INERTIA) / h**2)
    trapezoid = h / 4 * (n - v - s["n_link"] + s["v_link"])
    contact = k * h * (n - s["n_link"])
    damped = k * trapezoid + s["p_dj"] * (mean - (s["v_link"] + s["n_link"]) / 2)
    spring = k * (s["q"] - s["link"]) + ca.if_else(elastic, damped, contact)
    side, edge = ca.if_else(s["p_gap"] > 0, s["side"], 1), k * s["p_gap"] / 2
    passed = ca.if_else(side != 0, spring - side * edge, 0)
    return ca.vertcat(torque - passed, passed), level, asked, spring, edge


def _remembered(s: Mapping[str, ca.SX], faded: bool) -> ca.SX:
    """Torques of bristles, by the exact step of a constant velocity, and of the servo's integral after the step."""
    bent, stiffness, grip = _bristles(s, faded)
    w = grip * Dahl().evolve(s["w"] / grip, stiffness * s["h"] * s["n"] / grip, s["h"], [1])
    wound = s["z"] + ca.if_else(s["limited"] == 0, s["h"] * s["p_ki"] * _within(s), 0)
    return ca.vertcat(ca.if_else(bent, w, s["w"]), ca.if_else(s["on"] != 0, wound, 0))


def _start(s: Mapping[str, ca.SX]) -> ca.SX:
    """Deflection of a spring under the load, integral and bristles that hold the motion, at the first sample."""
    elastic = s["p_kj"] < STIFF
    deflection = s["side"] * s["p_gap"] / 2 + ca.if_else(elastic, s["load"] / s["p_kj"], 0)
    damping = _viscous(s) + s["on"] * s["p_kd"] + s["p_emf"]
    servo = s["p_kp"] * _error(s) + s["push"]
    wound = ca.if_else(s["on"] != 0, s["load"] + _constant(s) + damping * s["v"] - servo, 0)
    rest, level = servo - _constant(s) - s["load"], _level(s)[0]
    slides = ca.if_else(s["v"] != 0, ca.sign(s["v"]), _HELD * ((rest > _HELD * level) - (rest < -_HELD * level)))
    bent = ca.if_else(slides != 0, slides * level, rest)
    return ca.vertcat(deflection, wound, ca.if_else(_bristles(s)[0], bent, 0))
