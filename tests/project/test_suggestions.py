"""A name that is nearly right is answered with the right one, in Python as on the command line."""

from __future__ import annotations

import pytest

import casid
from casid.errors import CasidError
from casid.excitation import DesignSettings
from casid.learning import parametrisation
from casid.retrieval.constraints import consistency_cone


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (lambda: casid.solve("panda_retrieval", method="penalti"), "penalty"),
        (lambda: casid.multistart(casid.load_problem("panda_retrieval"), 1, method="branchs"), "branches"),
        (lambda: casid.load_problem("panda_retrieval").without("total_mas"), "total mass"),
        (lambda: casid.load_robot("pandas"), "panda"),
        (lambda: casid.load_robot("panda", lock=["jont1"]), "joint1"),
        (lambda: casid.Model(casid.load_robot("panda"), terms=["viscos"]), "viscous"),
        (lambda: casid.Model(casid.load_robot("panda"), terms=["viscous@jont2"]), "joint2"),
        (lambda: casid.Model(casid.load_robot("panda")).derivatives("gravty"), "gravity"),
        (lambda: DesignSettings(basis="fourie").motion_basis(), "fourier"),
        (lambda: DesignSettings(criterion="conditon").designer(casid.load_robot("panda")), "condition"),
        (lambda: parametrisation("spectrl"), "spectral"),
        (lambda: consistency_cone("ful", "here"), "full"),
    ],
)
def test_nearly_right_names(wrong, right: str) -> None:
    with pytest.raises(CasidError, match=f"did you mean '?{right}"):
        wrong()


def test_options_of_the_solver_name_their_place() -> None:
    with pytest.raises(CasidError, match=r"Unknown option: max_itr; the solver's own stand in {'ipopt': {...}}"):
        casid.solve("panda_retrieval", options={"max_itr": 3})
