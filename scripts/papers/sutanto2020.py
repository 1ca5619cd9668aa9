"""Items of the article; the topic ``learning`` of the acceptance tables measures more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from benchmarks.learning import epochs as rungs
from benchmarks.learning import models
from matplotlib.figure import Figure

from casid.learning import Chart, TorqueLoss
from casid.learning._parametrisations import PARAMETRISATIONS
from casid.report import INK
from papers.item import Part, Parts, Setting, compared, holds, items_of, numbers, pictured, stated
from papers.pictures import panels

item = items_of("sutanto2020")

#: Passes of the document (its target is blank in the copy at hand), by the names of the parametrisations here.
PRINTED = {"nostr": 6153, "symm": 84, "spd": 21, "tri": 21, "cov": 21}
EPOCHS = 60
#: Targets shown of the published experiment, and its seeds.
SHOWN, SEEDS = (0.1, 0.032, 0.01), range(3)


def epochs(name: str, duration: float, most: int) -> list[float]:
    """Passes until every joint's NMSE is at most each target; infinite where it is not, one seed, Adam 3e-2."""
    kind = PARAMETRISATIONS[name]
    loss = TorqueLoss(rungs.iiwa(), rungs.dataset(rungs.sines(duration=duration)), None, kind.symmetric)
    found = rungs.epochs_of(loss, Chart(rungs.iiwa(), kind), rungs.ADAM, most, np.array(rungs.TARGETS), {0: None})
    return [float(e) for e in found]


def published(quick: bool) -> tuple[Part, np.ndarray]:
    """Epochs of the authors' published experiment, median of the seeds; where they are in the paper's order."""
    reading = replace(rungs.READINGS[0], epochs=30) if quick else rungs.READINGS[0]
    (found,) = rungs.curves((reading,), SEEDS)
    places = [int(np.argmin(np.abs(np.log(rungs.GRID / target)))) for target in SHOWN]
    shown = np.where(np.isinf(found), np.nan, found)[:, places]
    rows = [
        [name, PRINTED[name], *(f"more than {reading.epochs}" if np.isnan(e) else f"{e:g}" for e in row)]
        for name, row in zip(rungs.RUNGS, shown, strict=True)
    ]
    columns = ("parametrisation", "printed, target not known", *(f"NMSE {target:g}" for target in SHOWN))
    title = "Authors' published experiment: one sine, centre of mass known, 10 000 samples"
    return compared(title, columns, rows), rungs.ordered(found)[places]


@item("Table 1")
def table_1(setting: Setting) -> Parts:
    """All rungs of the paper."""
    duration, most = (10.0, 3) if setting.quick else (600.0, EPOCHS)
    own = {name: epochs(name, duration, most) for name in PRINTED}
    rows = [
        [name, printed, *(f"{e:g}" if e < float("inf") else f"more than {most}" for e in own[name])]
        for name, printed in PRINTED.items()
    ]
    experiment, as_printed = published(setting.quick)
    columns = ("parametrisation", "printed, target not known", *(f"NMSE {target:g}" for target in rungs.TARGETS))
    yield experiment
    yield compared("Passes over 600 s of sines of our own, centre of mass learnt, one seed", columns, rows)
    yield stated(*SHOWN)
    yield holds(*as_printed, rungs.ordered(np.array(list(own.values()))).all())


#: Seeds, twice those of the document; of the quick form, with the share of the networks' budgets that it spends.
SEEDS_TRACKING, QUICK = 10, (1, 0.02)
COLUMNS = ("model", "sine q", "sine dq", "end effector x", "end effector v")


def _cells(scores: np.ndarray) -> list[str]:
    """Median and largest of the seeds."""
    return [f"{np.median(column):.3f} ({column.max():.3f})" for column in scores.T]


@item("Table 1 (tracking)")
def table_1_tracking(setting: Setting) -> Parts:
    """Every model from every seed, on the sines and on paths of the end effector."""
    scores, took = models.tracking_scores(*(QUICK if setting.quick else (SEEDS_TRACKING,)))
    rows = []
    for name, found in scores.items():
        kind = name.partition(" at ")[0]
        printed = models.PAPER[kind].split() if models.PAPER[kind][0].isdigit() else ["-"] * 4
        rows.append([name, *(f"{own}, {paper}" for own, paper in zip(_cells(found), printed, strict=True))])
    networks = [name for name in models.NETWORKS_TRACKING if name in models.PAPER and models.PAPER[name][0].isdigit()]
    yield compared("NMSE of the tracked motion: median (largest) of the seeds, printed mean", COLUMNS, rows)
    yield compared("What the training took", ("model", "training"), [[name, text] for name, text in took.items()])
    yield numbers(len(scores["truth"]), models.TARGET, models.TRAINED_OUT)
    yield holds(models.as_the_truth(scores, models.PHYSICAL), models.worse_at_the_end(scores, networks))


#: Parametrisations that the paper calls the fastest.
PHYSICAL_FIG_1 = ("spd", "tri", "cov")


def figure(found: dict[str, list[float]]) -> Figure:
    """Error on the whole set over batches."""
    made, (axes,) = panels("Error on the whole set while it comes in", 10.0, 5.0)
    for name, errors in found.items():
        own, style = name.startswith("casid"), ":" if name in PARAMETRISATIONS else "--"
        axes.semilogy(
            np.arange(1, len(errors) + 1), errors, label=name, linewidth=2.4 if own else 1.2,
            color=INK if own else None, linestyle="-" if own else style,
        )  # fmt: skip
    axes.set(xlabel=f"batches of {rungs.BATCH} samples", ylabel="NMSE on the whole set")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    return made


def _ordered(found: dict[str, list[float]]) -> tuple[str, bool]:
    """Whether the physical parametrisations are the best of the paper's models, as in the figure."""
    ends = {name: errors[-1] for name, errors in found.items()}
    physical = max(ends[name] for name in PHYSICAL_FIG_1)
    others = min(error for name, error in ends.items() if name not in PARAMETRISATIONS and not name.startswith("casid"))
    words = f"the worst of {', '.join(PHYSICAL_FIG_1)} has {physical:.2g}, the best network {others:.2g}"
    return words, physical < min(others, ends["symm"], ends["nostr"])


@item("Fig. 1")
def fig_1(setting: Setting) -> Parts:
    """Every model without noise."""
    found = rungs.curves_sequential(0.0, 5.0 if setting.quick else rungs.DURATION)
    last = len(next(iter(found.values()))) - 1
    marks = (0, last // 4, last)
    rows = [[name, *(errors[k] for k in marks)] for name, errors in found.items()]
    columns = ("model", *(f"after batch {k + 1}" for k in marks))
    words, first = _ordered(found)
    yield compared("NMSE on the whole set, mean of the joints", columns, rows)
    yield pictured("fig_1", figure(found))
    yield numbers(words)
    yield holds(first)


@item("Table 2")
def table_2(setting: Setting) -> Parts:
    """Mean NMSE of every model, trained on one part or motion and tested on another."""
    found = models.recorded_scores(models.RECORDINGS[1:2] if setting.quick else models.RECORDINGS)
    names = list(next(iter(found.values())))
    shown = [name.replace(models.CHOSEN, ", friction as casid chose it") for name in names]
    rows = [[text, *(row[name] for row in found.values())] for text, name in zip(shown, names, strict=True)]
    ladder = [name for name in names if name in PARAMETRISATIONS]
    networks = [name for name in names if name not in PARAMETRISATIONS and "casid" not in name and "limit" not in name]
    networks = [name for name in networks if not name.endswith(models.CHOSEN)]
    better = all(
        min(row[name] for name in ladder) < min(row[name] for name in networks)
        for title, row in found.items()
        if not title.startswith("Panda (")
    )
    yield compared("NMSE of the torques on the part that was not learnt, mean of the joints", ("model", *found), rows)
    chosen = [f"{name}{models.CHOSEN}" for name in ladder]
    lent = (min(row[name] for name in chosen) < min(row[name] for name in ladder) for row in found.values())
    yield holds(better, all(lent))
