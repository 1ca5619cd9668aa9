"""The cache of compiled code and the compiler, broken in every way they can be."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from casid import codegen
from casid.codegen import Function, cache_directory, cache_entries, clear_cache
from casid.errors import CasidWarning, ExportError
from tests.codegen.conftest import FUNCTION, needs_posix_compiler, script

pytestmark = needs_posix_compiler

POINTS = np.linspace(-1.0, 1.0, 9)
EXPECTED = np.sin(POINTS) * POINTS + 2


@pytest.fixture(autouse=True)
def every_call_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen._compiler, "WORTH_COMPILING", 1.0)


def values(**options: bool) -> np.ndarray:
    return np.ravel(Function(FUNCTION)(POINTS, **options))


@pytest.mark.claim("a truncated or altered library in the cache is made anew, never loaded")
@pytest.mark.claim("house a: a truncated library in the cache is made anew, never loaded, by every path that compiles")
@pytest.mark.parametrize("given", [np.ones(3), 1.0])
def test_damaged_libraries_are_compiled_again(given: np.ndarray | float, own_cache: Path) -> None:
    Function(FUNCTION)(given, compiled=True)
    (entry,) = (e for e in cache_entries() if not e.name.startswith("bridge"))
    good = entry.read_bytes()
    rng = np.random.default_rng(1)
    for k in range(4):
        damaged = bytearray(good[: (4200, rng.integers(1, len(good)))[k]] if k < 2 else good)
        damaged[rng.integers(len(damaged))] ^= 1 << int(rng.integers(8))
        entry.unlink()  # a new inode: a library that is loaded must not change under the process
        entry.write_bytes(damaged)
        program = "import casadi as ca, numpy as np; from casid.codegen import Function; x = ca.SX.sym('x'); "
        program += "f = Function(ca.Function('f', [x], [ca.sin(x) * x + 2])); "
        program += f"print(f(np.array({np.asarray(given).tolist()}), compiled=True).ravel()[-1])"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-400:]  # -7: the process got a SIGBUS
        assert abs(float(done.stdout) - np.sin(1.0) - 2) < 1e-14
        assert entry.read_bytes() == good
    assert clear_cache() >= 1
    assert not list(own_cache.iterdir())


@pytest.mark.claim("a broken compiler costs one warning, not the result")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exit 1", "could not compile"),
        ("exit 0", "could not compile"),
        ('for a; do case "$p" in -o) echo garbage > "$a";; esac; p="$a"; done', "cannot be loaded"),
        ("kill -SEGV $$", "could not compile"),
    ],
    ids=["fails", "writes nothing", "writes garbage", "crashes"],
)
def test_a_broken_compiler_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str) -> None:
    monkeypatch.setenv("CASID_CC", script(tmp_path / "cc", text))
    with pytest.warns(CasidWarning, match=f"compiled code is not used.*{words}") as caught:
        np.testing.assert_allclose(values(), EXPECTED, rtol=1e-14)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(values(), EXPECTED, rtol=1e-14)  # silent from now on
    with pytest.raises(ExportError, match=words):
        values(compiled=True)


@pytest.mark.claim("a compiler that hangs is ended with its children, and costs one warning")
def test_a_hanging_compiler_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen._compiler, "_ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(codegen._compiler, "_COMPILE_SECONDS", 0.5)
    mark = tmp_path / "child"
    for text in ("sleep 60", f'[ "$1" = --version ] || (sleep 1.5; touch {mark}) | cat'):
        monkeypatch.setenv("CASID_CC", script(tmp_path / f"cc{len(text)}", text))
        began = time.perf_counter()
        with pytest.warns(CasidWarning, match="did not finish within 0.5 s"):
            np.testing.assert_allclose(values(), EXPECTED, rtol=1e-14)
        assert time.perf_counter() - began < 20
    time.sleep(1.7)
    assert not mark.exists()


@pytest.mark.claim("a missing compiler, and one that is no command, costs one warning, not the result")
@pytest.mark.parametrize("command", ["'unfinished", " ", "/etc/passwd", "/no/such/compiler"])
def test_a_compiler_that_is_no_command(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("CASID_CC", command)
    with pytest.warns(CasidWarning, match="not used, which is slower: no C compiler") as caught:
        np.testing.assert_allclose(values(), EXPECTED, rtol=1e-14)
        np.testing.assert_allclose(values(), EXPECTED, rtol=1e-14)
    assert len(caught) == 1
    with pytest.raises(ExportError, match="no C compiler"):
        values(compiled=True)


@pytest.mark.claim("a cache that cannot be written costs one warning, not the result")
def test_a_cache_that_cannot_be_written_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("CASID_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(CasidWarning, match="cannot be written"):
        np.testing.assert_allclose(values(), EXPECTED, rtol=1e-14)
    with pytest.raises(ExportError, match=r"cache folder .* cannot be written.*CASID_CACHE"):
        values(compiled=True)


@pytest.mark.claim("a cache that everyone may write to, or that is someone else's, is not used")
def test_a_cache_that_others_may_write_to_is_refused(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values(compiled=True)
    assert stat.S_IMODE(own_cache.stat().st_mode) == 0o700
    own_cache.chmod(0o777)
    with pytest.warns(CasidWarning, match="can be written by everyone"):
        np.testing.assert_allclose(values(), EXPECTED, rtol=1e-14)
    with pytest.raises(ExportError, match="can be written by everyone"):
        values(compiled=True)
    own_cache.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: own_cache.stat().st_uid + 1)
    with pytest.raises(ExportError, match="belongs to another user"):
        values(compiled=True)


@pytest.mark.claim('XDG_CACHE_HOME="" or a relative one does not load libraries from the current folder')
@pytest.mark.parametrize("stated", ["", "relative", "."])
def test_the_current_folder_is_no_cache(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.delenv("CASID_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", stated)
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_directory() == Path.home() / ".cache" / "casid"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_directory() == Path("/elsewhere/casid")
