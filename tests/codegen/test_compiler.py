"""The compiler: what it compiles is kept, what fails is shown."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from casid.codegen import evaluate_batch
from casid.codegen._cache import cache_entries
from casid.codegen._compiler import compile_shared, find_compiler
from casid.errors import ExportError

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def _compile(folder: str, barrier: multiprocessing.synchronize.Barrier) -> None:
    os.environ["CASID_CACHE"] = folder
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [ca.sin(x) * x])
    barrier.wait()
    value = evaluate_batch(f, np.array([1.0, 2.0]), compiled=True)
    assert abs(float(value[1, 0, 0]) - 2 * np.sin(2)) < 1e-15


@needs_compiler
def test_two_processes_compile_the_same_at_once(own_cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [context.Process(target=_compile, args=(str(own_cache), barrier)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(cache_entries()) == 1
    assert not [path for path in own_cache.iterdir() if path.name.startswith(".")]


@needs_compiler
def test_failing_compile_shows_the_words_and_keeps_the_source(own_cache: Path) -> None:
    with pytest.raises(ExportError, match=r"could not compile .*-failed\.c") as caught:
        compile_shared("int broken( { return undeclared; }\n", "wrong")
    assert "error" in str(caught.value)
    (kept,) = own_cache.glob("*-failed.c")
    assert "undeclared" in kept.read_text()
    assert not list(own_cache.glob("*.so"))


@needs_compiler
def test_cache_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("CASID_CACHE", str(file))
    with pytest.raises(ExportError, match=r"cache folder .* cannot be written.*CASID_CACHE"):
        compile_shared("int f(void) { return 0; }\n", "f")
