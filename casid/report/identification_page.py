"""An identification as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casid.dynamics.terms._catalogue import friction_model
from casid.identification import Identification
from casid.report.identification_tables import joint_columns, joint_rows, raw_error, told_words
from casid.report.intervals import verdict
from casid.report.viewer import html_table, image, page, plot_box, robot_box, scene, torque_charts
from casid.version import __version__

Array = NDArray[np.float64]


def identification_page(result: Identification, drawn: dict[str, bytes]) -> str:
    """One self-contained page, no link to anything outside: the robot to turn, curves to zoom, tables to sort."""
    fit, feasible = result.unconstrained, result.feasible
    solution = feasible.solution
    cards = [
        (f"{feasible.relative_error:.2f} %", "torque error, physically consistent"),
        (f"{fit.relative_error:.2f} %", f"unconstrained, {fit.method}"),
        (f"{feasible.residual_ratio:.4f}", "weighted residual, consistent / unconstrained"),
        *(
            [(f"{result.held_out.tested['consistent'].total:.2f} %", "held out, physically consistent")]
            if result.held_out
            else []
        ),
        (f"{raw_error(result):.2f} %", "against the unfiltered torques"),
        (f"{solution.gap:.1e}", "certified gap" if solution.certified else "gap, not certified"),
        (f"{fit.rank} of {fit.data.base.rank}", "base parameters determined"),
        (f"{fit.condition_number:.3g}", "condition number"),
    ]
    base = [
        [
            name,
            f"{fit.beta[k]:.5g}",
            f"{fit.sd[k]:.2g}" if np.isfinite(fit.sd[k]) else "-",
            f"{fit.relative_sd[k]:.1f}" if np.isfinite(fit.relative_sd[k]) else "-",
            f"{feasible.beta[k]:.5g}",
            expression,
        ]
        for k, (name, expression) in enumerate(zip(fit.data.base.names, fit.data.base.expressions, strict=True))
    ]
    links = [
        [
            p.name,
            f"{p.mass:.4f}",
            *(f"{1e3 * c:.1f}" for c in p.com),
            *(f"{value:.2e}" for value in p.principal_moments),
        ]
        for p in feasible.link_parameters
    ]
    terms = [
        [result.model.parameter_names[c], term.doc, f"{feasible.values[c]:.5g}", term.unit]
        for c, (term, _) in sorted(result.model.term_columns.items())
    ]
    body = [
        f"<h1>{escape(result.model.robot.name)}: identification</h1>",
        f'<p class="lead">casid {escape(__version__)} · {escape(", ".join(fit.data.datasets))} · '
        f"{int(fit.data.counts.max())} samples a joint</p>",
        *_verdict_lines(result),
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{escape(v)}</b><span>{escape(t)}</span></div>' for v, t in cards)
        + "</div>",
        "<h2>Notes</h2>" + ("".join(f'<p class="note">{escape(note)}</p>' for note in result.notes) or "<p>None.</p>"),
        "<h2>Joints</h2><p>A percentage relates the error to the joint's own torque: on a joint that carries little "
        "it is large although the error in N·m is small. Compare both columns.</p>",
        html_table([column.replace("N.m", "N·m") for column in joint_columns(result)], joint_rows(result), feet=1),
        "<h2>Torques</h2><p>Wheel: zoom; drag: move; double click: all. With the keyboard: +, -, arrows, 0.</p>",
        *(f"<h3>{escape(data.name)}</h3>{plot_box(str(k))}" for k, data in enumerate(result.datasets)),
        "<h2>Links</h2><p>Each body as the ellipsoid of uniform density with its mass and inertia. Drag: turn; wheel: "
        "zoom; point at a body for its numbers.</p>",
        robot_box("links"),
        html_table(
            [
                "link",
                "mass [kg]",
                "c<sub>x</sub> [mm]",
                "c<sub>y</sub> [mm]",
                "c<sub>z</sub> [mm]",
                "I<sub>1</sub> [kg·m²]",
                "I<sub>2</sub>",
                "I<sub>3</sub>",
            ],
            links,
        ),
        *_determined(result),
        "<h2>Bounds that are reached</h2>"
        + ("".join(f"<p>{escape(bound.text)}</p>" for bound in feasible.active) or "<p>None.</p>"),
        "<h2>Friction and drive train</h2>",
        html_table(["parameter", "meaning", "value", "unit"], terms) if terms else "<p>None.</p>",
        *_laws(result),
        image(drawn.get("friction.png")),
        *_candidates(result),
        "<h2>Base parameters</h2>",
        image(drawn.get("base_parameters.png")),
        html_table(["leads", fit.method, "sd", "sd [%]", "consistent", "grouping"], base, text=(5,)),
        "<h2>What was done</h2><ul>" + "".join(f"<li>{escape(step)}</li>" for step in fit.data.steps) + "</ul>",
        f"<p>{escape(solution.status)}, {solution.iterations} iterations; largest "
        f"violation of a constraint on re-check {solution.max_violation:.1e}.</p>",
    ]
    robot = result.model.robot
    bodies: dict[str, Array] = {}
    if all(link.inertial is not None for link in robot.links):
        bodies["nominal, of the description"] = np.asarray(robot.standard_parameters(), dtype=float)
    bodies["identified, physically consistent"] = feasible.standard_parameters
    posture = result.datasets[0].q[0] if result.datasets else None
    return page(
        f"{robot.name}: identification", body, {"links": scene(robot, bodies, posture=posture)}, _charts(result)
    )


def _charts(result: Identification) -> dict[str, list[dict[str, Any]]]:
    """Measured and predicted torques of every recording."""
    names = [joint.name for joint in result.model.robot.coordinates]
    charts = {}
    for number, data in enumerate(result.datasets):
        prediction = result.predict(data)
        curves = {
            "measured (filtered)": prediction.dataset.tau,
            "predicted": prediction.predicted,
            "residual": prediction.residual,
        }
        titles = [f"{name} [N·m]: error RMS {rms:.3g}" for name, rms in zip(names, prediction.rms, strict=True)]
        charts[str(number)] = torque_charts(prediction.dataset.t, curves, titles, "N·m", f"recording {number}")
    return charts


def _determined(result: Identification) -> list[str]:
    """Which numbers the data determine, with intervals, and which are the plausible choice; proven ranges of links."""
    rows = [[e.name, f"{e.value:.5g}", f"{e.low:.5g}", f"{e.high:.5g}"] for e in result.determined if e.by_data]
    lines = [
        f"<p>Determined by the data alone: {escape(told_words(result))}.</p>",
        "<details><summary>95 % intervals of these, from the unconstrained fit</summary>",
        html_table(["parameter", "chosen", "at least", "at most"], rows),
        "</details>",
    ]
    if result.intervals is not None:
        ranges = [[e.name, f"{e.low:.5g}", f"{e.high:.5g}", verdict(e)] for e in result.intervals.entries]
        lines += [
            "<p>Proven ranges [kg]: no physically consistent set that explains the data has a mass outside; what is "
            "open is the plausible choice.</p>",
            html_table(["quantity", "at least", "at most", ""], ranges, text=(3,)),
        ]
    return lines


def _shape(law: str, values: Mapping[str, float]) -> str:
    """Shapes of a friction law with their units."""
    units = {shape.name: shape.unit for shape in friction_model(law).shape}
    return ", ".join(f"{name} = {value:.3g} {units.get(name, '')}".rstrip() for name, value in values.items())


def _laws(result: Identification) -> list[str]:
    """The friction law of each joint, with its shape."""
    if result.law is None:
        return []
    joints = result.model.robot.coordinates
    rows = [
        [
            joint.name,
            own.law.name,
            _shape(own.law.name, dict(zip((s.name for s in own.law.shape), own.theta, strict=True))),
        ]
        for joint, own in zip(joints, result.law.joints, strict=True)
    ]
    return [html_table(["joint", "friction law", "shape"], rows, text=(1, 2))]


def _candidates(result: Identification) -> list[str]:
    """Friction laws that were tried, joint by joint, by their held-out error."""
    if not result.candidates:
        return []
    rows = [
        [
            c.joint,
            c.law + (" (chosen)" if c.chosen else ""),
            _shape(c.law, c.shape),
            f"{c.held_out:.4f}",
            f"{c.training:.4f}",
            str(c.parameters),
        ]
        for c in result.candidates
    ]
    header = ["joint", "law", "shape", "held out [N·m]", "training [N·m]", "parameters"]
    return ["<h2>Friction laws tried</h2>", html_table(header, rows, text=(1, 2))]


def _verdict_lines(result: Identification) -> list[str]:
    if result.verdict is None:
        return []
    kind = "right" if result.verdict.right else "wrong"
    found = "".join(
        f'<p class="note">{escape(f.kind)}: {escape(f.text)}. <b>{escape(f.remedy)}</b></p>'
        for f in result.verdict.findings
    )
    return [f'<p class="verdict {kind}">{escape(result.verdict.line)}</p>{found}']
