"""The documents and their items, in the documents' order."""

from __future__ import annotations

from dataclasses import dataclass

from papers.gaz2019 import ITEMS as GAZ
from papers.gaz2019_supplement import ITEMS as SUPPLEMENT
from papers.item import Item
from papers.sousa2014 import ITEMS as SOUSA
from papers.sutanto2020 import ITEMS as SUTANTO


@dataclass(frozen=True, eq=False)
class Paper:
    """A document: its key on the command line, its short title, its citation, its items."""

    key: str
    title: str
    citation: str
    items: tuple[Item, ...]


PAPERS = (
    Paper(
        "gaz2019",
        "Gaz et al. (2019): the Panda, feasible parameters by penalties",
        "C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, Dynamic identification of the Franka Emika "
        "Panda robot with retrieval of feasible parameters using penalty-based optimization, IEEE RA-L 4(4), 2019",
        GAZ,
    ),
    Paper(
        "gaz2019_supplement",
        "Gaz et al. (2019): supplementary material",
        "The same authors, supplementary material of the paper (revised version of October 2019)",
        SUPPLEMENT,
    ),
    Paper(
        "sousa2014",
        "Sousa (2014): thesis on physical feasibility",
        "C. D. Sousa, Dynamic model identification of robot manipulators: solving the physical feasibility problem, "
        "PhD thesis, University of Coimbra, 2014",
        SOUSA,
    ),
    Paper(
        "sutanto2020",
        "Sutanto et al. (2020): physical constraints in learning",
        "G. Sutanto, A. S. Wang, Y. Lin, M. Mukadam, G. S. Sukhatme, A. Rai, F. Meier, Encoding physical constraints "
        "in differentiable Newton-Euler algorithm, L4DC 2020",
        SUTANTO,
    ),
)


def paper_of(key: str) -> Paper:
    """By its key; KeyError names the known ones."""
    for paper in PAPERS:
        if paper.key == key:
            return paper
    raise KeyError(f"no document '{key}'; there are {', '.join(paper.key for paper in PAPERS)}")
