"""Methods of feasible identification compared: Sousa (2014), Sec. 6, made anew.

    python scripts/compare_methods.py --out build/methods

Random data for 1 to 40 links (Fig. 6.2, 6.3), the Barrett WAM (Fig. 6.1, 6.4; needs the published tables: set
CASID_DATA to the data folder) and the test of Yoshida and Khalil; writes pictures and ``compare_methods.json``.
``--quick`` takes a few small sizes. Everything runs on one thread.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # times are compared on one core; set before numpy loads

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from benchmarks.measure import NotMeasured
from papers.methods.figures import error_figure, pd_ratio_figure, reduction_figure, time_figure
from papers.methods.positive_definite_ratio import pd_curve, published_ends
from papers.methods.reduction_study import reduction_path
from papers.methods.study import Size, as_records, run_sizes
from papers.methods.wam import PERIODS, wam_data
from papers.methods.yoshida_khalil import three_link_verdicts

from casid.files._texts import json_bytes
from casid.files._write import prepare_directory, write_files
from casid.report._style import png_bytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/methods"), help="folder for pictures and JSON")
    parser.add_argument("--links", type=int, default=40, help="largest number of links")
    parser.add_argument("--kind", choices=("full", "semi"), default="full", help="constraint set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mata-seconds", type=float, default=10.0, help="time limit of each nonlinear program")
    parser.add_argument("--mata-links", type=int, default=40, help="largest size for Mata's method")
    parser.add_argument("--poses", type=int, default=10000, help="random poses of Fig. 6.1")
    parser.add_argument("--quick", action="store_true", help="sizes 1, 2 and 4, few poses")
    options = parser.parse_args()
    links = [1, 2, 4] if options.quick else list(range(1, options.links + 1))
    poses = 300 if options.quick else options.poses
    console = Console(width=None if sys.stdout.isatty() else 150)
    folder = prepare_directory(options.out)

    runs = run_sizes(
        links, options.seed, options.kind, options.mata_seconds, options.mata_links, repeats=1 if options.quick else 12
    )
    sizes = list(track(runs, "random data", total=len(links), console=console))
    console.print(_table(sizes))
    weights = np.linspace(0.0, 1.2, 25)
    curves, path, missing = {}, None, ""
    try:
        data = wam_data(options.seed, ("A",), 1 if options.quick else PERIODS)
        curves["the thesis's published WAM parameters"] = pd_curve(*published_ends(), weights, poses)
        curves["identified here from simulated WAM data"] = pd_curve(data.estimate, data.feasible.beta, weights, poses)
        path = reduction_path(data)
    except NotMeasured as reason:
        missing = f"Fig. 6.1 and 6.4: {reason}"
        console.print(missing)
    verdicts = three_link_verdicts()
    for verdict in verdicts:
        console.print(verdict.text)
    pictures = {
        "figure_6_2_regression_error.png": png_bytes(error_figure(sizes)),
        "figure_6_3_solver_time.png": png_bytes(time_figure(sizes)),
    }
    if path is not None:
        pictures["figure_6_1_positive_definite_ratio.png"] = png_bytes(pd_ratio_figure(weights, curves))
        pictures["figure_6_4_model_reduction.png"] = png_bytes(reduction_figure(path))
    record = {
        "kind": options.kind,
        "seed": options.seed,
        "sizes": as_records(sizes),
        "positive_definite_ratio": {"lambda": weights, **curves, "missing": missing},
        "model_reduction": None if path is None else vars(path),
        "yoshida_khalil": [v.text for v in verdicts],
    }
    write_files(folder, {**pictures, "compare_methods.json": json_bytes(record)})
    console.print(f"written to {folder}")
    return 0


def _table(sizes: list[Size]) -> Table:
    """Error above OLS, time and success of every method, at a few sizes and over all."""
    shown = [s for s in sizes if s.links in (1, 2, 4, 7, 12, 20, 30, 40)]
    table = Table(title="error above OLS in % / solver time in ms; * infeasible or not solved")
    table.add_column("method")
    for size in shown:
        table.add_column(f"{size.links} links", justify="right")
    table.add_column("success", justify="right")
    names = list(dict.fromkeys(name for size in sizes for name in size.answers))
    for name in names:
        cells = []
        for size in shown:
            found = size.answers.get(name)
            mark = "" if found is None or found.success else "*"
            cells.append("" if found is None else f"{found.error_above_ols:.4g}{mark} / {1e3 * found.solve_time:.3g}")
        tried = [size.answers[name] for size in sizes if name in size.answers]
        table.add_row(name, *cells, f"{sum(a.success for a in tried)} of {len(tried)}")
    return table


if __name__ == "__main__":
    sys.exit(main())
