"""Counts of the source, read from its syntax trees: size, fronts, long functions, what stands twice, banned words."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

from benchmarks.measure import NotMeasured
from benchmarks.soundness.structure import ROOT, trees

#: Longest function [lines] and most parameters that go uncounted.
LONGEST, MOST = 60, 8
#: Words of a private dialect, as regular expressions; spelt in parts so that this list does not count itself.
BANNED = tuple(
    re.compile(rf"\b{a}{b}\b", re.IGNORECASE)
    for a, b in (
        ("to", "ld"), ("men", "ded"), ("sa", "id"), ("worth a ", "word"), ("as good as ", "none"),
        ("gives itself ", "up"), ("gave themselves ", "up"), ("in sil", "ence"), ("book of ", "energy"),
    )
)  # fmt: skip
#: What has one implementation: subject -> what only an implementation of it contains, in code without docstrings.
SIGNS = {
    "RK4": re.compile(r"\bk4\b|\(\s*1 / 6, 1 / 3, 1 / 3, 1 / 6|\[1\] \+ k\[2\]"),
    "log-det divergence": re.compile(r"slogdet\(|\blogdet\w* = |log\(diagonal\)|def log_?det"),
    "controller contract": re.compile(r"class Controller\(ABC\)|class \w*Controller\w*\(ABC\)"),
    "compile door": re.compile(r"ctypes\.CDLL\(|\bca\.external\("),
    "standard gravity": re.compile(r"\b9\.80665\b"),
    "number parser": re.compile(r"float\(word\) for word in|float\(\w+\) for \w+ in [\w.]+\.split\("),
}
#: Symbols of joint terms; a file that spells this many of them is a catalogue.
SYMBOLS = frozenset("fv fc fo Ia fs vs fl fd fcp fcn fvp fvn ks kq fsq ft br fr".split())


def modules() -> list[str]:
    """Importable modules of the package, folders' fronts apart."""
    return [name for name, (path, _) in trees().items() if path.name != "__init__.py"]


def modules_at(commit: str) -> list[str]:
    """As `modules`, of an earlier commit.

    Raises
    ------
    NotMeasured
        Without the project's history.
    """
    command = ["git", "ls-tree", "-r", "--name-only", commit, "casid"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMeasured(f"needs the history of the repository, with commit {commit}")
    paths = [Path(line) for line in done.stdout.splitlines()]
    return [".".join(path.with_suffix("").parts) for path in paths
            if path.suffix == ".py" and path.name != "__init__.py"]  # fmt: skip


def fronts() -> dict[str, list[str]]:
    """Front of each folder -> the names it promises: what its ``__init__`` imports as itself (``X as X``)."""
    found: dict[str, list[str]] = {}
    for name, (path, tree) in trees().items():
        if path.name != "__init__.py" or any(part.startswith("_") for part in name.split(".")):
            continue
        names: set[str] = set()
        for node in _flat(tree.body):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("casid"):
                names |= {a.name for a in node.names if a.asname == a.name or name == "casid"}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
        found[name] = sorted(n for n in names if not n.startswith("_"))
    return found


def _flat(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements, those for type checkers included."""
    return [s for node in body for s in ([node, *_flat(node.body)] if isinstance(node, ast.If) else [node])]


def promised() -> dict[str, str]:
    """Every public name once: ``front.name`` -> the front; what `casid` itself offers stands at its room."""
    rooms = {front: names for front, names in fronts().items() if front != "casid"}
    inner = {front.rpartition(".")[2] for front in rooms}
    return {f"{front}.{name}": front for front, names in rooms.items() for name in names if name not in inner}


@cache
def code_lines(path: Path) -> int:
    """Lines with code: no docstring, comment or blank."""
    source = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            documented |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    unseen = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in unseen:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def functions() -> list[tuple[str, ast.FunctionDef]]:
    """Every function and method of the package with its place."""
    return [
        (f"{name}:{node.lineno} {node.name}", node)
        for name, (_, tree) in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]


def long_functions() -> list[str]:
    """Functions of more lines than `LONGEST`, docstring included."""
    return [place for place, node in functions() if (node.end_lineno or node.lineno) - node.lineno + 1 > LONGEST]


def wide_functions() -> list[str]:
    """Functions of more parameters than `MOST`, ``self`` and ``cls`` apart."""
    found = []
    for place, node in functions():
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        if len([n for n in names if n not in ("self", "cls")]) > MOST:
            found.append(place)
    return found


def implementations() -> dict[str, list[str]]:
    """Subject -> the modules that implement it."""
    found: dict[str, list[str]] = {subject: [] for subject in SIGNS}
    for name, (_, tree) in trees().items():
        code = ast.unparse(_without_docstrings(tree))
        for subject, sign in SIGNS.items():
            if sign.search(code):
                found[subject].append(name)
    found["joint-term catalogue"] = [name for name, (_, tree) in trees().items() if len(_spelt(tree) & SYMBOLS) >= 6]
    found["peer adapter"] = [
        str(path.relative_to(ROOT))
        for folder in ("casid", "scripts", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if re.search(r"mj_(?:inverse|step|forward)\(", path.read_text(encoding="utf-8"))
    ]
    return found


def _without_docstrings(tree: ast.Module) -> ast.Module:
    copy = ast.parse(ast.unparse(tree))
    for node in ast.walk(copy):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return copy


def _spelt(tree: ast.Module) -> set[str]:
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def matched_texts() -> list[str]:
    """Places that look for words in a text that was made for people, or take one apart."""
    spoken = {"text", "message", "label", "remedy", "note"}
    found = []
    for name, (_, tree) in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                sought, place = node.left, node.comparators[0]
                literal = isinstance(sought, ast.Constant) and isinstance(sought.value, str)
                if literal and isinstance(place, ast.Attribute) and place.attr in spoken:
                    found.append(f"{name}:{node.lineno}")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                of_text = isinstance(owner, ast.Attribute) and owner.attr in spoken
                if of_text and node.func.attr in ("split", "partition", "rpartition", "startswith", "endswith", "find"):
                    found.append(f"{name}:{node.lineno}")
    return found


def kinds() -> dict[str, str]:
    """Classes that others extend, and those that extend them: name -> the room (or testing ground) that owns them."""
    owner: dict[str, str] = {}
    bases: dict[str, list[str]] = {}
    abstract: set[str] = set()
    for name, (_, tree) in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                owner[node.name] = name.split(".")[1]
                bases[node.name] = [_last(b) for b in node.bases]
                if "ABC" in bases[node.name]:
                    abstract.add(node.name)
    grown = True
    members = set(abstract)
    while grown:
        more = {c for c, parents in bases.items() if c not in members and set(parents) & members}
        members |= more
        grown = bool(more)
    return {name: owner[name] for name in members}


def foreign_isinstance() -> list[str]:
    """``isinstance`` with a kind of another room."""
    known, found = kinds(), []
    for name, (_, tree) in trees().items():
        room = name.split(".")[1] if "." in name else ""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _last(node.func) == "isinstance" and len(node.args) == 2:
                asked = {_last(n) for n in ast.walk(node.args[1])}
                found += [f"{name}:{node.lineno} {k}" for k in sorted(asked & set(known)) if known[k] != room]
    return found


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def untested() -> list[str]:
    """Modules without a test file of their subject.

    The file is ``tests/ROOM/test_MODULE.py`` or that of a folder of the module (``test_FOLDER.py``), and it uses a
    name that the module defines or that its front promises from it.
    """
    found = []
    for name in modules():
        room, *inner = name.split(".")[1:]
        subjects = [part.lstrip("_") for part in inner] or [room.strip("_")]
        folder = ROOT / "tests" / (room.lstrip("_") if inner else "project")
        files = [folder / f"test_{s}.py" for s in (*subjects, "_".join(subjects))]
        tree = trees()[name][1]
        names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        names |= {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
        names |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        if not names:  # an entry point: what it runs
            names = {a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
        texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
        if not any(re.search(rf"\b{re.escape(n)}\b", text) for n in names for text in texts):
            found.append(name)
    return found


def copied_helpers() -> list[str]:
    """Functions of tests that stand in two files with the same body."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_"):
                body = ast.unparse(ast.Module([s for s in node.body if not isinstance(s, ast.Expr)], []))
                if len(body) > 40:
                    places[body].append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    return [" = ".join(where) for where in places.values() if len(where) > 1]


def banned_words() -> list[str]:
    """Banned words in code, tests, scripts and pages; the page of results, which quotes this list, is left out."""
    left_out = ("changelog.md", "results.md")
    paths = [
        path
        for folder in ("casid", "tests", "scripts", "problems", "robots", "docs")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".toml", ".c", ".h", ".js", ".html", ".cpp") and path.name not in left_out
    ]
    found = []
    for path in (*paths, ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            words = [m.group() for word in BANNED for m in word.finditer(line.replace("_", " "))]
            found += [f"{path.relative_to(ROOT)}:{number} {word}" for word in words]
    return found
