"""Joints: errors of an identification, predicted torques of a recording, friction and other joint terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from casid.dynamics.terms import friction_model
from casid.errors import DatasetError
from casid.identification import Identification, Prediction, predict
from casid.report._section import Report, ReportSection, SectionOf, report_of
from casid.report._style import BLUE, MUTED, ORANGE, Figure, new_figure, tidy
from casid.report._tables import NAME, NUMBER, TEXT, WORD, PlainTable, numbers, texts
from casid.report.viewer import Page

#: Most points of a curve; more are not visible.
_POINTS = 3000


class ErrorsSection(SectionOf[Identification]):
    """Errors of each joint, on the training data and held out, and the torques over time."""

    def tables(self) -> Sequence[Table]:
        """One row for each joint, in N.m and in percent: a large percentage of a small torque is a small error."""
        columns = ["torque RMS [N.m]", "error RMS [N.m]", "error [%]", "unconstrained [%]"]
        if self.result.held_out is not None:
            columns += ["held out [%]", "unconstrained, held out [%]"]
        *joints, total = _joint_rows(self.result)
        return (PlainTable("Joints", {"joint": NAME} | numbers(*columns), [*joints, None, total]),)

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``torques`` of one recording, counted from 0."""
        return {"torques": self._torques}

    def figures(self) -> Mapping[str, Figure]:
        """``torques``, or ``torques_1`` ... of several recordings."""
        count = len(self.result.datasets)
        names = ["torques"] if count == 1 else [f"torques_{k + 1}" for k in range(count)]
        return {name: self._torques(k) for k, name in enumerate(names)}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The table, and curves of each recording."""
        page.heading("Joints")
        page.text(
            "A percentage relates the error to the joint's own torque: on a joint that carries little "
            "it is large although the error in N·m is small. Compare both columns."
        )
        page.table(*self.tables())
        page.heading("Torques")
        for number, data in enumerate(self.result.datasets):
            page.heading(data.name, 3)
            _add_curves(page, self.result.predict(data), joint_names(self.result), number)

    def _torques(self, recording: int = 0) -> Figure:
        datasets = self.result.datasets
        if not 0 <= recording < len(datasets):
            raise DatasetError(f"there is no recording {recording}: there are {len(datasets)}, counted from 0")
        data = datasets[recording]
        title = f"{data.name}: measured and predicted torques"
        return torque_figure(self.result.predict(data), joint_names(self.result), title)


@dataclass(frozen=True, eq=False)
class PredictionSection(ReportSection):
    """Torques of a recording that was not used in the identification, predicted by Newton-Euler."""

    prediction: Prediction
    joints: Sequence[str]

    def tables(self) -> Sequence[Table]:
        """RMS, MSE and relative error of each joint."""
        prediction = self.prediction
        sizes = np.sqrt(np.mean(prediction.dataset.tau**2, axis=0))
        errors = zip(self.joints, sizes, prediction.rms, prediction.mse, prediction.relative_errors, strict=True)
        rows = [
            (name, f"{size:.3f}", f"{rms:.4f}", f"{mse:.3e}", f"{relative:.2f}")
            for name, size, rms, mse, relative in errors
        ]
        columns = {"joint": NAME} | numbers("torque RMS [N.m]", "error RMS [N.m]", "MSE [(N.m)^2]", "error [%]")
        total = ("all", "", "", "", f"{prediction.relative_error:.3f}")
        title = f"{prediction.dataset.name}: predicted by Newton-Euler"
        share, away = prediction.rest
        at_rest = ", ".join(f"{name} {one:.3g}" for name, one in zip(self.joints, away, strict=True) if one > 0)
        note = f"Errors while moving; at rest ({100 * share:.0f} % of the samples) friction may be [N.m]: {at_rest}"
        return (PlainTable(title, columns, [*rows, None, total], note if at_rest else ""),)

    def record(self) -> Mapping[str, Any]:
        """Errors of each joint, and what was done to the recording."""
        prediction = self.prediction
        errors = zip(self.joints, prediction.rms, prediction.mse, prediction.relative_errors, strict=True)
        return {
            "recording": prediction.dataset.name,
            "samples": len(prediction.dataset),
            "relative_error": prediction.relative_error,
            "at_rest": {"share": prediction.rest[0], "largest": prediction.rest[1].tolist()},
            "joints": [dict(zip(("name", "rms", "mse", "relative_error"), one, strict=True)) for one in errors],
            "steps": list(prediction.dataset.steps),
            "notes": list(prediction.dataset.notes),
        }

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """The table, and curves."""
        page.table(*self.tables(), titled=True)
        _add_curves(page, self.prediction, self.joints)

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``torques``."""
        title = f"{self.prediction.dataset.name}: measured and predicted torques"
        return {"torques": lambda: torque_figure(self.prediction, tuple(self.joints), title)}


class JointTermsSection(SectionOf[Identification]):
    """Joint terms of an identification."""

    def tables(self) -> Sequence[Table]:
        """One row for each joint; nothing where there are no terms."""
        result = self.result
        columns = result.model.term_columns
        terms = list(dict.fromkeys(term for term, _ in columns.values()))
        if not terms:
            return ()
        if result.law is not None:
            return (self._by_joint(),)
        values = {(term, k): f"{result.feasible.values[column]:.4g}" for column, (term, k) in columns.items()}
        rows = [(joint, *(values.get((term, k), "") for term in terms)) for k, joint in enumerate(joint_names(result))]
        found = {"joint": NAME} | numbers(*(f"{term.symbol} [{term.unit}]" for term in terms))
        return (PlainTable("Friction and other joint terms", found, rows),)

    def _by_joint(self) -> Table:
        """Laws differ from joint to joint: one row for each, with its own amplitudes."""
        result = self.result
        assert result.law is not None
        rows = []
        for k, (joint, own) in enumerate(zip(joint_names(result), result.law.joints, strict=True)):
            terms = [(t, c) for c, (t, at) in sorted(result.model.term_columns.items()) if at == k]
            sizes = ", ".join(f"{t.symbol} {result.feasible.values[c]:.4g}" for t, c in terms)
            shape = dict(zip((s.name for s in own.law.shape), own.theta, strict=True))
            rows.append((joint, own.law.name, _shape(own.law.name, shape), sizes))
        columns = {"joint": NAME} | texts("law", "shape", "amplitudes [SI]")
        return PlainTable("Friction and other joint terms", columns, rows)

    def pictures(self) -> Mapping[str, Callable[..., Figure]]:
        """``friction``."""
        return {"friction": lambda: friction_figure(self.result)}

    def show(self, page: Page, drawn: Mapping[str, bytes]) -> None:
        """All terms, the friction law of each joint, and the laws that were compared."""
        result = self.result
        terms = [
            [result.model.parameter_names[c], term.doc, f"{result.feasible.values[c]:.5g}", term.unit]
            for c, (term, _) in sorted(result.model.term_columns.items())
        ]
        page.heading("Friction and drive train")
        if terms:
            columns = {"parameter": NAME, "meaning": TEXT, "value": NUMBER, "unit": WORD}
            page.table(PlainTable("Joint terms", columns, terms))
        else:
            page.text("None.")
        if result.law is not None:
            page.table(self._by_joint())
        page.image(drawn.get("friction.png"))
        self._candidates(page)

    def _candidates(self, page: Page) -> None:
        """The chosen friction law of each joint beside linear friction, by their held-out error."""
        result = self.result
        if result.law is None or not result.candidates:
            return
        rows = []
        for c in result.candidates:
            if c.chosen or c.law == "linear":
                errors = (f"{c.held_out:.4f}", f"{c.training:.4f}", str(c.parameters))
                rows.append((c.joint, c.law + " (chosen)" * c.chosen, _shape(c.law, c.shape), *errors))
        page.heading("Friction laws compared")
        columns = {"joint": NAME} | texts("law", "shape")
        columns |= numbers("held out [N.m]", "training [N.m]", "parameters")
        page.table(PlainTable("Friction laws compared", columns, rows))


@report_of.register(Prediction)
def _of_prediction(prediction: Prediction, joints: Sequence[str]) -> Report:
    section = PredictionSection(prediction, joints)
    return Report(prediction.dataset.name, (section,), json="validation.json", page="validation.html")


def _add_curves(page: Page, prediction: Prediction, joints: Sequence[str], number: int = 0) -> None:
    """Measured and predicted torques over time, and below what the prediction leaves."""
    t, curves = prediction.dataset.t, {"measured (filtered)": prediction.dataset.tau, "predicted": prediction.predicted}
    page.text("Wheel: zoom; drag: move; double click: all. With the keyboard: +, -, arrows, 0.")
    page.curves(t, curves, [f"{name} [N·m]" for name in joints], "N·m", f"recording {number}")
    page.text("Residual: what the prediction leaves, each joint on its own scale.")
    titles = [f"{name} [N·m]: RMS {rms:.3g}" for name, rms in zip(joints, prediction.rms, strict=True)]
    page.curves(t, {"residual": prediction.residual}, titles, "N·m", f"residual {number}")


def joint_names(result: Identification) -> tuple[str, ...]:
    """Names of the joints whose torques are measured."""
    return tuple(joint.name for joint in result.model.robot.coordinates)


def _joint_rows(result: Identification) -> list[list[str]]:
    """Rows of the joints' table: held-out errors where there are any, the last of all joints."""
    data, feasible, fit = result.feasible.data, result.feasible, result.unconstrained
    size = np.sqrt(data.squared_torques / np.maximum(data.counts, 1))
    kept = [] if result.held_out is None else [result.held_out.tested[kind] for kind in ("consistent", "unconstrained")]
    rows = []
    for k, name in enumerate(joint_names(result)):
        shares = (feasible.relative_errors[k], fit.relative_errors[k], *(errors.joints[k] for errors in kept))
        cells = [f"{size[k]:.3f}", f"{feasible.rms[k]:.4f}", *(f"{share:.2f}" if size[k] else "-" for share in shares)]
        rows.append([name, *(cells if data.counts[k] else ["not used", *("-" for _ in cells[1:])])])
    total = ["all", "", "", f"{feasible.relative_error:.3f}", f"{fit.relative_error:.3f}"]
    return [*rows, [*total, *(f"{errors.total:.3f}" for errors in kept)]]


def _used(prediction: Prediction) -> np.ndarray:
    """Residuals of the samples that are used, shape (N, n) [N.m]; NaN, of which nothing is drawn, of the others."""
    mask = prediction.dataset.mask
    return prediction.residual if mask is None else np.where(mask, prediction.residual, np.nan)


def torque_figure(prediction: Prediction, names: tuple[str, ...], title: str) -> Figure:
    """Measured and predicted torque of each joint over time, and what the prediction leaves on a scale of its own."""
    n = prediction.dataset.n
    figure = new_figure(13.0, 1.75 * n + 0.8, title)
    axes = figure.subplots(n, 2, sharex=True, squeeze=False, width_ratios=[1.9, 1.0])
    step = max(1, len(prediction.dataset) // _POINTS)
    t, residual, mask = prediction.dataset.t[::step], _used(prediction), prediction.dataset.mask
    for k, (left, right) in enumerate(axes):
        left.plot(
            t, prediction.dataset.tau[::step, k], color=BLUE, linewidth=3.0, alpha=0.35, label="measured (filtered)"
        )
        left.plot(t, prediction.predicted[::step, k], color=ORANGE, linewidth=1.0, label="predicted")
        right.plot(t, residual[::step, k], color=MUTED, linewidth=0.8)
        used = mask is None or mask[:, k].any()
        text = f"residual: RMS {prediction.rms[k]:.3g} N·m, {prediction.relative_errors[k]:.2f} %"
        tidy(left, y="N·m", title=names[k])
        tidy(right, title=text if used else "not used")
    axes[0, 0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderpad=0, ncols=2, fontsize=8, frameon=False)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    return figure


def _shape(law: str, values: Mapping[str, float]) -> str:
    """Shape parameters of a friction law with their units."""
    units = {shape.name: shape.unit for shape in friction_model(law).shape}
    return ", ".join(f"{name} = {value:.3g} {units.get(name, '')}".rstrip() for name, value in values.items())


def friction_figure(identification: Identification) -> Figure:
    """Torque without that of the links over the velocity of each joint, and the fitted friction."""
    model, names = identification.model, joint_names(identification)
    n = model.n
    columns = min(n, 4)
    rows = -(-n // columns)
    title = "Torque beyond the links' own (blue) and fitted joint terms (orange)"
    figure = new_figure(3.1 * columns, 2.6 * rows + 0.6, title)
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    rigid = identification.feasible.values.copy()
    friction = np.zeros_like(rigid)
    for column, (term, _) in model.term_columns.items():
        if not term.inertial:
            friction[column], rigid[column] = rigid[column], 0.0
    for data in identification.datasets:
        left = _used(predict(model, rigid, data))
        shape = predict(model, friction, data).predicted
        step = max(1, len(data) // _POINTS)
        for k in range(n):
            assert data.dq is not None
            axes[k].plot(data.dq[::step, k], left[::step, k], ".", color=BLUE, markersize=2, alpha=0.4)
            axes[k].plot(data.dq[::step, k], shape[::step, k], ".", color=ORANGE, markersize=2)
    for k, ax in enumerate(axes):
        if k >= n:
            ax.set_visible(False)
            continue
        tidy(ax, x="velocity [rad/s]", y="N·m", title=names[k])
        ax.locator_params(axis="x", nbins=4)
    return figure
