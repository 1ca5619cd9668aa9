"""What the documents' sections state or derive beside their tables and figures, and the items that compute it."""

from __future__ import annotations

from dataclasses import dataclass

from papers.catalogue import PAPERS
from papers.item import Item, Status


@dataclass(frozen=True)
class Claim:
    """A statement of a section.

    Attributes
    ----------
    name, title : str
        Where it stands, and what it says.
    by : tuple of str
        Items that compute it: by name, ``paper: name`` where another document has them.
    """

    name: str
    title: str
    by: tuple[str, ...]

    def items(self, paper: str) -> tuple[tuple[str, Item], ...]:
        """The items, each with its document's key; KeyError for one that is not listed."""
        found = []
        for text in self.by:
            key, _, name = text.rpartition(": ")
            chosen = [(p.key, item) for p in PAPERS if p.key == (key or paper) for item in p.items if item.name == name]
            if not chosen:
                raise KeyError(f"{self.name}: no item '{text}'")
            found += chosen
        return tuple(found)

    def status(self, paper: str) -> Status:
        """The least that its items reach."""
        order = list(Status)
        return max((item.status for _, item in self.items(paper)), key=order.index)


def _claims(*rows: tuple[str, str, str]) -> tuple[Claim, ...]:
    return tuple(Claim(name, title, tuple(by.split("; "))) for name, title, by in rows)


CLAIMS = {
    "gaz2019": _claims(
        ("Sec. III-A", "dynamic coefficients by least squares on a pruned regressor (eq. 5-9)",
         "gaz2019_supplement: Table III"),
        ("Sec. IV-A (eq. 17-21)", "mass matrix and gravity are linear in the same 43 coefficients",
         "gaz2019_supplement: Table III"),
        ("Sec. IV-A (eq. 22, 23)", "inverse dynamics from them, Coriolis torques by Christoffel symbols",
         "Fig. 3; Sec. VI"),
        ("Sec. IV-B", "sigmoid friction fitted to what the rigid model leaves (eq. 24, 25)",
         "Fig. 4; gaz2019_supplement: Table I"),
        ("Sec. V (eq. 26-30)", "retrieval within bounds, triangle inequality and total mass", "Algorithm 1"),
        ("Sec. V, Sec. I", "a global optimum is not guaranteed; successive runs improve", "Algorithm 1"),
        ("Sec. VI (identification)", "rank 43, condition number 49, error 0.031 %, two coefficients discarded",
         "gaz2019_supplement: Table III"),
        ("Sec. VI (validation)", "Newton-Euler with feasible parameters gives the same dynamics", "Fig. 5"),
    ),
    "gaz2019_supplement": _claims(
        ("Sec. I", "sigmoid friction of each joint", "Table I"),
        ("Sec. II (excitation)", "Fourier series of five harmonics, 20544 samples", "Table II"),
        ("Sec. II (classical)", "condition number 121.88, error 1.41 %", "Table III"),
        ("Sec. II (one step)", "feasible coefficients from the torques at once", "Table III"),
        ("Sec. II (comparison)", "pi_RE and pi_CLS are similar; neither need be consistent", "Table III"),
        ("Sec. III (validation)", "p_hat and delta are both reliable and consistent", "Table IV; Table VIII"),
        ("Sec. IV (torques)", "mean torque errors of the engines are near zero", "Table V; Fig. 6"),
        ("Sec. IV (poses)", "position and orientation errors of the engines", "Fig. 7"),
        ("Sec. V (coefficients)", "the eight coefficients of the 2R robot", "Table VII"),
        ("Sec. V (constraints)", "nonlinear and conditional constraints on the centres of mass", "Table VII; Sec. V"),
        ("Sec. V (forces)", "infeasible parameters: right torques, wrong joint forces", "Fig. 9; Fig. 10"),
    ),
    "sousa2014": _claims(
        ("Sec. 2.2", "Euler-Lagrange and Newton-Euler models are the same", "gaz2019: Sec. VI"),
        ("Sec. 2.3", "the model is linear in the standard parameters", "Table 4.2; Sec. 7.1.2"),
        ("Sec. 2.4.1", "linearisation by nonlinear feedback", "Table 5.1"),
        ("Sec. 2.5", "least squares and standard deviations of the estimates", "Table 4.6"),
        ("Sec. 2.5.1", "base parameters and their grouping", "Table 4.2"),
        ("Sec. 2.6.1", "mass and inertia about the centre of mass positive", "Sec. 3.1"),
        ("Sec. 2.6.2", "friction and rotor inertia not negative", "Sec. 8.1 (parameters)"),
        ("Sec. 2.6.3", "conditions by further information on the robot", "Table 4.8"),
        ("Sec. 2.6.4, 2.6.5", "virtual parameters: feasible if any standard parameters are", "Table 6.1; Sec. 6.2"),
        ("Sec. 3.1.1", "the feasible set by polynomials", "Sec. 3.1"),
        ("Sec. 3.1.2", "the base-dependent parameter space (eq. 3.10-3.15)", "Sec. 6.2"),
        ("Sec. 3.1.3", "a quantifier-free form exists; planar robots", "Sec. 3.1"),
        ("Sec. 3.2", "the set as a linear matrix inequality", "Sec. 3.1"),
        ("Sec. 3.3", "feasibility test of base parameters", "Table 4.6; Table 6.1"),
        ("Sec. 3.4", "distance from the feasible set", "Table 4.9; Table 6.1"),
        ("Sec. 3.5.1, 3.5.2", "ordinary least squares as an SDP, and its reduction by QR", "Sec. 3.5"),
        ("Sec. 3.5.3", "the best feasible fit is not the feasible set nearest to OLS", "Table 4.9; Sec. 3.5"),
        ("Sec. 3.6", "the same methods in the standard space; virtually feasible sets", "Sec. 3.5"),
        ("Sec. 4.1", "kinematics of the WAM", "Table 4.1"),
        ("Sec. 4.2", "76 base parameters with transmission and motor terms", "Table 4.2"),
        ("Sec. 4.3.1", "control of the data collection", "Table 4.3"),
        ("Sec. 4.3.2", "trajectories of low condition number within the limits", "Table 4.4; Table 4.5"),
        ("Sec. 4.3.3", "filtering and differentiation of the recording", "Table 4.7"),
        ("Sec. 4.4.1", "weighted least squares", "Table 4.7"),
        ("Sec. 4.5.1", "both classical estimates are proven infeasible", "Table 4.6"),
        ("Sec. 4.5.2", "nearest feasible parameters, u' = 0.0077", "Table 4.9"),
        ("Sec. 4.5.3", "feasible regression of the weighted data", "Table 4.9; Table 4.10"),
        ("Sec. 4.5.4", "with extra constraints beta* is infeasible, beta*e is found", "Table 4.8; Table 4.9"),
        ("Sec. 4.6", "errors on the regression trajectory", "Table 4.10; Table 4.11"),
        ("Sec. 4.6.1", "feasible parameters validate better", "Table 4.10; Table 4.11"),
        ("Sec. 5.1.1", "direct dynamics by the mass matrix", "Sec. 8.1 (terms)"),
        ("Sec. 5.1.2", "free fall diverges with infeasible parameters", "Fig. 5.1; Fig. 5.2; Fig. 5.3; Fig. 5.4"),
        ("Sec. 5.2", "control fails with infeasible parameters, even with low gains", "Fig. 5.6; Fig. 5.7; Fig. 5.8"),
        ("Sec. 6.1", "marginally infeasible sets look harmless at most poses", "Fig. 6.1"),
        ("Sec. 6.3", "convexity, effectiveness and efficiency of LMI-SDP", "Fig. 6.2; Fig. 6.3; Sec. 2.6"),
        ("Sec. 6.3.1", "point masses approximate the set from within", "Table 6.2; Fig. 6.2"),
        ("Sec. 6.3.2", "scalability over links", "Fig. 6.2; Fig. 6.3"),
        ("Sec. 6.4", "model reduction can reach feasibility, at a higher error", "Fig. 6.4"),
        ("Sec. 7.1.3, 7.1.4", "generated code: operations and times", "Table 7.1"),
    ),
    "sutanto2020": _claims(
        ("Sec. 3.1, 3.2", "unstructured and symmetric inertias", "Table 1"),
        ("Sec. 3.3", "positive definite inertias by a Cholesky factor", "Table 1"),
        ("Sec. 3.4", "triangular parametrisation", "Table 1"),
        ("Sec. 3.5", "covariance parametrisation", "Table 1"),
        ("Sec. 4.1.1", "training speed and generalisation in simulation", "Table 1"),
        ("Sec. 4.1.2", "online learning speed", "Fig. 1"),
    ),
}  # fmt: skip
