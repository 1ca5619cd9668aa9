"""What a verdict consists of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a recording, or with how it was read.

    Attributes
    ----------
    kind : str
        ``gravity``, ``sign``, ``joint order``, ``clock``, ``torque scale``, ``delay``, ``standstill``, ``channel``,
        ``one way`` or ``outliers``.
    text : str
        What was found, with the evidence.
    remedy : str
        The option that mends it.
    wrong : bool
        Whether the result is wrong because of it; otherwise it deserves a look.
    """

    kind: str
    text: str
    remedy: str
    wrong: bool = True


@dataclass(frozen=True)
class Verdict:
    """Is the model right?

    Attributes
    ----------
    findings : tuple of Finding
    error, held_out : float
        Relative error of the consistent fit on the training and on held-out data [%]; NaN where nothing was held out.
    tried : int
        Readings of the recording that were tried and do not explain it better.
    """

    findings: tuple[Finding, ...]
    error: float
    held_out: float
    tried: int

    @property
    def right(self) -> bool:
        """Nothing was found that makes the result wrong."""
        return not any(finding.wrong for finding in self.findings)

    @property
    def line(self) -> str:
        """The verdict in one line."""
        wrong = [finding for finding in self.findings if finding.wrong]
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            return f"WRONG: {wrong[0].text}; try {wrong[0].remedy}{more}"
        apart = "" if self.held_out != self.held_out else f", {self.held_out:.2f} % on data that were held out"
        doubts = f"; worth a look: {', '.join(sorted({f.kind for f in self.findings}))}" if self.findings else ""
        return (
            f"the model is right as far as the data tell: error {self.error:.2f} %{apart}; {self.tried} other readings "
            f"of the recording explain it no better{doubts}"
        )

    def record(self) -> dict[str, object]:
        """Plain values."""
        return {
            "line": self.line,
            "right": self.right,
            "findings": [{"kind": f.kind, "text": f.text, "remedy": f.remedy, "wrong": f.wrong} for f in self.findings],
        }
