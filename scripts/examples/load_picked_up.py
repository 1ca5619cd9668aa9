"""A load that is picked up and dropped, on recordings of a UR10e: what is known of its mass at every instant.

    CASID_DATA=... python scripts/examples/load_picked_up.py --out docs/learning/load_picked_up.png

The same motion was recorded without and with a load; the load comes at a third of it and goes at two thirds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from benchmarks.learning.online import load_estimator, recordings
from benchmarks.picture import write_picture

from casid.report import BLUE, GREEN, INK, MUTED, RED, new_figure, set_title, tidy

#: Samples from one estimate to the next.
EVERY = 5
#: Part of the motion drawn beside the whole: seconds before and after the load came.
NEAR = (0.5, 3.0)


def main(out: Path) -> None:
    """Run the estimator over the spliced recording and draw what it says."""
    free, loaded = recordings()
    count = min(len(free), len(loaded))
    came, went = count // 3, 2 * count // 3
    carried = (np.arange(count) >= came) & (np.arange(count) < went)
    q, dq, ddq, tau = (
        np.where(carried[:, None], b[:count], a[:count])
        for a, b in zip(*((d.q, d.dq, d.ddq, d.tau) for d in (free, loaded)), strict=True)
    )
    t = np.arange(count) * 0.01
    online = load_estimator()
    times, masses, intervals = [], [], []
    for k in range(0, count, EVERY):
        part = slice(k, k + EVERY)
        online.update(q[part], dq[part], ddq[part], tau[part], t[part])
        estimate = online.estimate()
        times.append(t[part][-1])
        masses.append(estimate.mass)
        intervals.append(estimate.interval)
        if k < went <= k + EVERY:
            final = estimate.mass
    for alarm in online.changes:
        print(f"alarm at {alarm:.2f} s; the load came at {t[came]:.2f} s and went at {t[went]:.2f} s")
    low, high = np.clip(np.array(intervals).T, 0.0, 10.0)
    figure = new_figure(10.0, 3.6)
    set_title(figure, "A load picked up and dropped: its mass, known while the robot moves")
    axes = figure.subplots(1, 2, width_ratios=(2, 1), sharey=True)
    for ax in axes:
        ax.fill_between(times, low, high, color=BLUE, alpha=0.22, linewidth=0, label="95 % interval")
        ax.plot(times, masses, color=BLUE, linewidth=1.6, label="estimate")
        for k, label in ((came, "load comes, goes"), (went, None)):
            ax.axvline(t[k], color=MUTED, linewidth=1.0, linestyle="--", label=label)
        ax.plot(
            online.changes, np.full(len(online.changes), 3.85), "v", color=RED, markersize=7, label="change noticed"
        )
        ax.set_xlabel("time [s]")
        tidy(ax)
    axes[1].axhspan(0.95 * final, 1.05 * final, color=GREEN, alpha=0.18, linewidth=0, label="5 % of its final value")
    axes[0].set_ylabel("mass of the load [kg]", color=INK)
    axes[0].set(ylim=(-0.1, 4.0), xlim=(0.0, t[-1]))
    axes[1].set_xlim(t[came] - NEAR[0], t[came] + NEAR[1])
    handles = dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    write_picture(figure, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the picture")
    main(parser.parse_args().out)
