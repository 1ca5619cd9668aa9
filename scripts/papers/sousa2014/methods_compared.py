"""Table 6.2 and Figs. 6.2, 6.3: methods of constrained regression compared."""

from __future__ import annotations

from functools import cache

import numpy as np
from benchmarks import published
from matplotlib.figure import Figure

from casid.report import BLUE, ORANGE, new_figure, set_title, tidy
from papers.item import Check, Comparison, Item, Outcome, Setting, Status, differs
from papers.methods.figures import error_figure, time_figure
from papers.methods.random_data import MARGIN
from papers.methods.regression import FEASIBILITY_TOLERANCE, Kind
from papers.methods.study import Size, run_sizes
from papers.methods.wam import PERIODS
from papers.methods.wam_inertial import inertial_errors
from papers.sousa2014.study import STAND_IN, seeds

#: Errors above OLS [%] that are rounding alone.
NOISE = 1e-9
SETS: dict[Kind, str] = {"semi": "m > 0, I > 0 (the thesis)", "full": "with the triangle inequality"}
SHOWN = (1, 2, 4, 7, 12, 20, 30, 40)


@cache
def sizes(quick: bool, kind: Kind = "semi") -> tuple[Size, ...]:
    """Random data for 1 to 40 links; with the triangle inequality (``full``) without the nonlinear programs."""
    count = (1, 2, 4) if quick else (*range(1, 18), 20, 25, 30, 35, 40)
    seconds, repeats, nonlinear = 1.0 if quick else 2.0, 1 if quick else 3, 40 if kind == "semi" else 0
    return tuple(run_sizes(count, kind=kind, mata_seconds=seconds, mata_links=nonlinear, repeats=repeats))


def above(kind: Kind, quick: bool) -> tuple[list[int], np.ndarray, list[int]]:
    """Numbers of links; errors of LMI-SDP and point masses above OLS [%], shape (2, sizes); feasible OLS."""
    done = sizes(quick, kind)
    errors = [[size.answers[name].error_above_ols for size in done] for name in ("LMI-SDP", "Point masses (3^3)")]
    feasible = [size.links for size in done if size.answers["OLS"].feasible]
    return [size.links for size in done], np.array(errors), feasible


def two_sets_figure(quick: bool) -> Figure:
    """LMI-SDP and point masses over the number of links, for both sets."""
    figure = new_figure(9.0, 4.6)
    set_title(figure, "Errors above OLS, with the thesis's set and with the triangle inequality")
    axes = figure.subplots()
    for (kind, words), line in zip(SETS.items(), ("-", "--"), strict=True):
        links, errors, _ = above(kind, quick)
        for values, name, colour in zip(errors, ("LMI-SDP", "point masses"), (BLUE, ORANGE), strict=True):
            if name == "LMI-SDP" or kind == "semi":  # point masses obey both sets
                label = f"{name}, {words}" if name == "LMI-SDP" else name
                shown = np.where(values > NOISE, values, np.nan)
                axes.plot(links, shown, line, marker="o", markersize=3, color=colour, label=label)
    axes.set(xlabel="links", ylabel="error above OLS [%]", yscale="log")
    axes.legend(frameon=False, fontsize=9)
    tidy(axes)
    return figure


def _table(setting: Setting, what: str) -> Comparison:
    done = [size for size in sizes(setting.quick) if size.links in SHOWN]
    names = list(dict.fromkeys(name for size in done for name in size.answers))
    rows = []
    for name in names:
        answers = [size.answers.get(name) for size in done]
        values = [
            None if a is None else (a.error_above_ols if what == "error" else 1e3 * a.solve_time) for a in answers
        ]
        marks = ["" if a is None or a.success else "*" for a in answers]
        rows.append(
            [
                name,
                *("" if v is None else f"{v if v > NOISE else 0:.3g}{m}" for v, m in zip(values, marks, strict=True)),
            ]
        )
    title = "Error above OLS [%]" if what == "error" else "Time of the solver [ms]"
    columns = ("method", *(f"{size.links} link{'s' if size.links > 1 else ''}" for size in done))
    return Comparison.of(f"{title}; * infeasible or not solved", columns, rows)


def fig_6_2(setting: Setting) -> Outcome:
    """Errors over the number of links."""
    done = sizes(setting.quick)

    def errors(name: str) -> np.ndarray:
        return np.array([size.answers[name].error_above_ols for size in done])

    best = errors("LMI-SDP")
    beaten = [a.error_above_ols >= best[i] * (1 - 1e-4) - 1e-9 for i, size in enumerate(done)
              for a in size.answers.values() if a.eigenvalue >= MARGIN - FEASIBILITY_TOLERANCE]  # fmt: skip
    (links, thesis, feasible), (_, full, never) = above("semi", setting.quick), above("full", setting.quick)
    with np.errstate(divide="ignore"):  # one link: OLS is feasible and the rise 0
        ratios, with_triangle = thesis[1] / thesis[0], full[1] / full[0]
    large, some = np.array(links) >= (2 if setting.quick else 7), np.array(links) > 1
    mata = [size.answers["Mata (SQP)"] for size in done]
    solved = sum(a.success for a in mata)
    rows = [
        [words, str(", ".join(map(str, ok)) or "none"), *np.percentile(r[mask], [0, 50, 100]).tolist()]
        for words, ok, r in ((SETS["semi"], feasible, ratios), (SETS["full"], never, with_triangle))
        for mask in (large,)
    ]
    columns = ("feasible set", "OLS feasible for links", "least ratio", "median", "largest")
    return Outcome(
        (
            _table(setting, "error"),
            Comparison.of(f"Point masses over LMI-SDP from {links[int(large.argmax())]} links on", columns, rows),
        ),
        {"fig_6_2": error_figure(list(done)), "fig_6_2_sets": two_sets_figure(setting.quick)},
        (
            "The thesis's feasible set asks for m > 0 and I > 0, so does the table. Point masses obey the triangle "
            "inequality too: against the set with the triangle inequality they lose much less, and one link of OLS is "
            f"infeasible there. With the thesis's set they rise {np.median(ratios[large]):.2f} times as far above OLS "
            f"as LMI-SDP (median; {ratios[large].min():.2f} to {ratios[large].max():.2f}), with the triangle "
            f"inequality {np.median(with_triangle[large]):.2f} times; the thesis says around twice.",
            "Point masses are fitted without the prior term of eq. 2.76 (random data have no CAD model), on boxes that "
            "enclose the links. OLS and the methods see 10 000 equations; each size is drawn once.",
            "Links keep a margin of 1e-6 (the thesis's epsilon). Theta of Ting et al. has none: feasible on the "
            "boundary, it may be lower than LMI-SDP by what the margin costs.",
            "The nonlinear programs of Mata's method are stopped after 2 s of processor time; the thesis stopped them "
            "by their iterations.",
        ),
        (
            Check("no answer within the margin (1e-6) has a lower error than LMI-SDP", all(beaten)),
            Check("OLS is infeasible from 2 links on", not set(feasible) & set(np.array(links)[some].tolist())),
            Check("OLS is feasible for 1 link", 1 in feasible),
            Check("with the triangle inequality OLS is infeasible for 1 link, too", 1 not in never),
            Check(
                "point masses rise around twice as far above OLS as LMI-SDP (median between 1.5 and 3)",
                1.5 <= float(np.median(ratios[large])) <= 3,
            ),
            Check(
                "point masses always give feasible answers",
                all(size.answers["Point masses (3^3)"].feasible for size in done),
            ),
            Check(
                "Mata's method (SQP) is unpredictable: solved at some sizes and not at others",
                0 < solved < len(mata),
            ),
        ),
    )


def fig_6_3(setting: Setting) -> Outcome:
    """Times over the number of links."""
    done = sizes(setting.quick)
    times = {name: np.array([size.answers[name].solve_time for size in done]) for name in done[0].answers}
    others = np.max([times[name] for name in ("LMI-SDP", "Point masses (3^3)")], axis=0)
    solved = np.array([size.answers["Mata (SQP)"].success for size in done])
    ratio = float(np.median(times["Point masses (3^3)"] / times["OLS"]))
    return Outcome(
        (_table(setting, "time"),),
        {"fig_6_3": time_figure(list(done))},
        (
            "Times of one core; the thesis's computer is another. Here point masses take "
            f"{ratio:.0f} times as long as OLS.",
            "The thesis says that the times of Mata's method are always higher than the others'. Where it ends early "
            "without a solution they need not be: over all sizes they are at least "
            f"{float((times['Mata (SQP)'] / others).min()):.2f} times those of the slower of LMI-SDP and point masses.",
        ),
        (
            Check("LMI-SDP solves 40 links in a very short time (1 s)", float(times["LMI-SDP"].max()) <= 1.0),
            Check(
                "wherever Mata's method (SQP) solves, it takes longer than LMI-SDP and point masses",
                bool((times["Mata (SQP)"] > others)[solved].all()),
            ),
            differs("point masses are as fast as OLS (within ten times)", ratio <= 10),
        ),
    )


def table_6_2(setting: Setting) -> Outcome:
    """Relative errors of the inertial model over seeds."""
    done = [inertial_errors(seed, 1 if setting.quick else PERIODS) for seed in seeds(setting)]
    names, found = list(done[0]), np.array([list(one.values()) for one in done])
    printed = {row["solution"]: row["relative_error_percent"] for row in published.table("wam_table_6_2_errors")}
    shown = [printed["beta_WLS"], printed["beta_star"], printed["delta_Ayusawa"], ""]
    rows = [
        [name, text, *np.percentile(found[:, i], [50, 0, 100]).tolist()]
        for i, (name, text) in enumerate(zip(names, shown, strict=True))
    ]
    columns = ("solution", "printed", f"median of {len(found)} seeds", "least", "largest")
    return Outcome(
        (Comparison.of("Relative error of the weighted data, inertial parameters alone [%]", columns, rows),),
        words=(
            "Inertial parameters alone are modelled, as in the thesis, so friction stays in the error. Point masses: "
            "the grid of 27 on the boxes of Table 4.8 (y of link 3 turned), with the prior term of eq. 2.76 towards "
            "the vendor's CAD bodies, and without it.",
        ),
        checks=(
            Check(
                "WLS fits best, then beta*, then point masses (every seed)",
                bool(((found[:, 0] <= found[:, 1]) & (found[:, 1] < found[:, 2])).all()),
            ),
            differs(
                "point masses rise more than ten times as far above WLS as beta* (every seed)",
                bool((found[:, 2] - found[:, 0] > 10 * (found[:, 1] - found[:, 0])).all()),
            ),
        ),
    )


ITEMS = (
    Item("Table 6.2", "WLS, LMI-SDP and point masses on the WAM", Status.IN_KIND, STAND_IN, table_6_2),
    Item(
        "Fig. 6.2",
        "regression errors over 1-40 links",
        Status.IN_KIND,
        "stand-in: the thesis leaves the distributions of its random data open; ours are in methods/random_data.py",
        fig_6_2,
    ),
    Item(
        "Fig. 6.3",
        "solver times over 1-40 links",
        Status.IN_KIND,
        "stand-in: the same random data, this machine",
        fig_6_3,
    ),
)
