"""Retrieval problems as SDPA files: written, read, solved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import clarabel
import numpy as np
from numpy.typing import NDArray
from papers.methods.feasible_set import conic
from scipy import sparse

from casid.arrays import Array
from casid.errors import DatasetError
from casid.files import read_text, write_files
from casid.retrieval import Problem
from casid.retrieval._problem import split_rows

#: Largest file that is read [bytes].
_LIMIT = 256 * 2**20


@dataclass(frozen=True, eq=False)
class SemidefiniteProgram:
    """``minimise c'y + constant  subject to  sum_k y_k F_k - F_0 >= 0``.

    Attributes
    ----------
    cost : ndarray, shape (m,)
        c.
    blocks : tuple of int
        Sizes; negative: a diagonal block.
    places : ndarray of int, shape (entries, 4)
        ``k, block, i, j`` of every entry of the upper triangles, ``k = 0`` for F_0, the others from 1.
    values : ndarray, shape (entries,)
    constant : float
        What the objective has beside ``c'y``.
    names : tuple of str
        Of the unknowns; empty in a file of another writer.
    left_out : tuple of str
        Labels of constraints that are not affine.
    """

    cost: Array
    blocks: tuple[int, ...]
    places: NDArray[np.int64]
    values: Array
    constant: float = 0.0
    names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def matrices(self, y: Array) -> list[Array]:
        """``sum_k y_k F_k - F_0``, block by block; diagonal ones as vectors."""
        found = [np.zeros(-size) if size < 0 else np.zeros((size, size)) for size in self.blocks]
        weights = np.concatenate([[-1.0], np.asarray(y, dtype=float)])
        for (k, block, i, j), value in zip(self.places.tolist(), self.values, strict=True):
            matrix = found[block - 1]
            if matrix.ndim == 1:
                matrix[i - 1] += weights[k] * value
            else:
                matrix[i - 1, j - 1] += weights[k] * value
                if i != j:
                    matrix[j - 1, i - 1] += weights[k] * value
        return found

    def text(self) -> str:
        """The file; `parse_sdpa` gives back the same program, to the last bit."""
        comments = [f"constant {self.constant!r}"]
        comments += [f"unknown {k} {name}" for k, name in enumerate(self.names, start=1)]
        comments += [f"left out {' '.join(label.split())}" for label in self.left_out]
        lines = [f'"{comment}' for comment in comments]
        lines += [str(len(self.cost)), str(len(self.blocks)), " ".join(map(str, self.blocks))]
        lines.append(" ".join(repr(float(value)) for value in self.cost))
        entries = zip(self.places.tolist(), self.values, strict=True)
        lines += [f"{k} {block} {i} {j} {float(value)!r}" for (k, block, i, j), value in entries]
        return "\n".join(lines) + "\n"


def semidefinite_program(problem: Problem) -> SemidefiniteProgram:
    """A problem as a semidefinite program, see the module."""
    size, objective = problem.variables.size, problem.objective
    linear, curved = split_rows(problem)
    soft = [k for k, row in enumerate(linear.rows) if row.weight is not None]
    rows = len(objective.target)
    first_slack = size + rows
    cost = np.concatenate([np.zeros(size), np.ones(rows), [float(linear.rows[k].weight or 0.0) for k in soft]])
    writer = _Writer()
    for i, (row, target) in enumerate(zip(objective.matrix, objective.target, strict=True)):
        writer.begin(2)
        writer.put(size + i + 1, 1, 1, 1.0)
        writer.affine(1, 2, row, float(target))
        writer.put(0, 2, 2, -1.0)
    for entry in problem.cones:
        if entry.constrains:
            writer.cone(entry.link, [entry.cone.matrix(unit) for unit in np.eye(10)], entry.margin)
    bounds = [
        (k, sign, bound)
        for k in range(len(linear.rows))
        for sign, bound in ((1.0, float(linear.lower[k])), (-1.0, -float(linear.upper[k])))
        if np.isfinite(bound)
    ]
    if bounds or soft:
        writer.begin(-(len(bounds) + len(soft)))
    for place, (k, sign, bound) in enumerate(bounds, start=1):
        writer.affine(place, place, sign * linear.matrix[k], bound)
        if k in soft:
            writer.put(first_slack + soft.index(k) + 1, place, place, 1.0)
    for number in range(len(soft)):
        place = len(bounds) + number + 1
        writer.put(first_slack + number + 1, place, place, 1.0)
    names = (
        *problem.variables.names,
        *(f"square_{i + 1}" for i in range(rows)),
        *(f"slack_{number + 1}" for number in range(len(soft))),
    )
    labels = dict.fromkeys(problem.constraints[row.constraint].label for row in curved.rows)
    return SemidefiniteProgram(
        cost,
        tuple(writer.blocks),
        np.array(writer.places, dtype=np.int64).reshape(-1, 4),
        np.array(writer.values),
        objective.constant,
        names,
        tuple(labels),
    )


def write_sdpa(problem: Problem, path: str | Path) -> SemidefiniteProgram:
    """Write a problem as an SDPA file (``.dat-s``) and return what was written.

    Raises
    ------
    ExportError
        If the file cannot be written; then nothing has changed.
    """
    program = semidefinite_program(problem)
    target = Path(path)
    write_files(target.parent, {target.name: program.text()})
    return program


def read_sdpa(path: str | Path) -> SemidefiniteProgram:
    """Read an SDPA sparse file, of any writer.

    Raises
    ------
    DatasetError
        Naming the line that is none.
    """
    return parse_sdpa(read_text(Path(path), "SDPA file", DatasetError, _LIMIT), f"SDPA file '{path}'")


def parse_sdpa(text: str, where: str) -> SemidefiniteProgram:
    """`read_sdpa` of a text."""
    comments: list[str] = []
    lines: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(('"', "*")):
            comments.append(line[1:])
        elif line.strip():
            lines.append((number, re.sub(r"[{}(),]", " ", line).split()))
    if len(lines) < 4:
        raise DatasetError(f"{where}: expected the number of unknowns, of blocks, their sizes and the costs")
    count, blocks = _integers(lines[0], where, 1)[0], _integers(lines[1], where, 1)[0]
    sizes = tuple(_integers(lines[2], where, blocks))
    if any(size == 0 for size in sizes):
        raise DatasetError(f"{where}: line {lines[2][0]}: a block of size 0")
    cost = np.array([_real(word, lines[3][0], where) for word in lines[3][1][:count]])
    if len(cost) != count:
        raise DatasetError(f"{where}: line {lines[3][0]}: expected {count} costs, got {len(cost)}")
    places, values = [], []
    for number, words in lines[4:]:
        if len(words) != 5:
            raise DatasetError(
                f"{where}: line {number}: expected 'matrix block row column value', got {len(words)} words"
            )
        k, block, i, j = _integers((number, words[:4]), where, 4)
        if not (0 <= k <= count and 1 <= block <= blocks and 1 <= min(i, j) and max(i, j) <= abs(sizes[block - 1])):
            raise DatasetError(f"{where}: line {number}: there is no entry {k} {block} {i} {j}")
        if sizes[block - 1] < 0 and i != j:
            raise DatasetError(f"{where}: line {number}: block {block} is diagonal")
        places.append((k, block, min(i, j), max(i, j)))
        values.append(_real(words[4], number, where))
    found = [re.match(r"constant (\S+)$", comment) for comment in comments]
    constants = [_real(match.group(1), 1, where) for match in found if match]
    named = [re.match(r"unknown \d+ (\S+)$", comment) for comment in comments]
    return SemidefiniteProgram(
        cost,
        sizes,
        np.array(places, dtype=np.int64).reshape(-1, 4),
        np.array(values),
        constants[0] if constants else 0.0,
        tuple(match.group(1) for match in named if match),
        tuple(comment.removeprefix("left out ") for comment in comments if comment.startswith("left out ")),
    )


class _Writer:
    """Collects entries, block after block."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.places: list[tuple[int, int, int, int]] = []
        self.values: list[float] = []

    def begin(self, size: int) -> None:
        """A new block; negative: diagonal."""
        self.blocks.append(size)

    def put(self, k: int, i: int, j: int, value: float) -> None:
        """An entry of F_k; zeros are not written."""
        if value:
            self.places.append((k, len(self.blocks), i, j))
            self.values.append(float(value))

    def affine(self, i: int, j: int, slope: Array, offset: float) -> None:
        """``slope'x - offset`` at an entry."""
        for column in np.flatnonzero(slope).tolist():
            self.put(column + 1, i, j, float(slope[column]))
        self.put(0, i, j, offset)

    def cone(self, link: int, units: list[Array], margin: float) -> None:
        """``matrix(x) - margin 1`` of a link, from the matrices of unit parameters."""
        size = len(units[0])
        self.begin(size)
        for column, matrix in enumerate(units):
            for i in range(size):
                for j in range(i, size):
                    self.put(10 * link + column + 1, i + 1, j + 1, float(matrix[i, j]))
        for i in range(size):
            self.put(0, i + 1, i + 1, margin)


def _integers(line: tuple[int, list[str]], where: str, count: int) -> list[int]:
    number, words = line
    try:
        found = [int(word) for word in words[:count]]
    except ValueError:
        found = []
    if len(found) != count:
        raise DatasetError(f"{where}: line {number}: expected {count} whole numbers, got '{' '.join(words)[:60]}'")
    return found


def _real(word: str, number: int, where: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise DatasetError(f"{where}: line {number}: '{word[:40]}' is no finite number")
    return value


def solve_sdpa(program: SemidefiniteProgram) -> float:
    """Optimum ``c'y + constant`` by Clarabel, given the file alone."""
    starts = np.cumsum([0, *(-size if size < 0 else size * (size + 1) // 2 for size in program.blocks)])
    k, block, i, j = program.places.T - np.array([[0], [1], [1], [1]])
    diagonal = np.array(program.blocks)[block] < 0
    rows = starts[block] + np.where(diagonal, i, j * (j + 1) // 2 + i)  # upper triangle by columns
    values = program.values * np.where(diagonal | (i == j), 1.0, np.sqrt(2.0))
    unknown = k > 0
    shape = (int(starts[-1]), len(program.cost))
    A = -sparse.coo_matrix((values[unknown], (rows[unknown], k[unknown] - 1)), shape).tocsc()
    b = np.zeros(shape[0])
    np.add.at(b, rows[~unknown], -values[~unknown])
    cones = [clarabel.NonnegativeConeT(-s) if s < 0 else clarabel.PSDTriangleConeT(s) for s in program.blocks]
    y = conic(program.cost, A, b, cones, 1e-11).x
    return float(program.cost @ y) + program.constant
