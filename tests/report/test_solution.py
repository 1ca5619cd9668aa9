"""Reports of solutions and starts."""

from __future__ import annotations

import casid
from casid.report import report_of


def test_the_picture_of_starts_counts_the_certified_and_one_start_has_none() -> None:
    problem = casid.load_problem("spatial_2r")
    study = casid.multistart(problem, starts=3, seed=0)
    figure = report_of(study).figures()["starts"]
    assert figure.axes[0].get_title(loc="left") == f"{study.certified} of 3 certified"
    assert "starts" not in report_of(study.best).figures()
