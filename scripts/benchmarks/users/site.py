"""The site in a real browser: search served and from disk, equations, links, pages on a desktop and on a phone."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from benchmarks.measure import Measure, NotMeasured, need

ROOT = Path(__file__).resolve().parents[3]
#: What is searched for, and the page whose section has to come first.
SEARCHES = {"decimal comma": "identification.html", "gear ratio": "identification.html"}
#: Pages that are looked at, of each door some.
PAGES = (
    "index", "recording_to_controller", "own_robot", "notebooks/2_identification", "notebooks/4_planar_2r",
    "identification", "constraints", "command_line", "conventions", "reference/retrieval", "concepts", "tasks",
)  # fmt: skip
#: Width and height of a desktop's and a phone's window.
WINDOWS = {"desktop": (1280, 900), "phone": (390, 844)}
#: What is wider than the page without a scroll bar of its own or of a box around it, and commands that scroll.
_CUT = """() => {
  const scrolling = ".md-typeset__scrollwrap, .md-typeset__table, pre, math[display=block], .cell-output";
  const wide = document.documentElement.scrollWidth > innerWidth + 1 ? ["the page"] : [];
  for (const code of document.querySelectorAll(".language-sh code, .language-text code"))
    if (code.scrollWidth > code.clientWidth + 1) wide.push(code.textContent.slice(0, 40));
  for (const e of document.querySelectorAll("article img, article p, article h1, article h2, article math")) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && !e.closest(scrolling))
      wide.push(e.textContent.slice(0, 40) || e.src.slice(0, 60));
  }
  return wide;
}"""
#: Equations whose drawing has no extent, or that were left as LaTeX.
_RAW = """() => [...document.querySelectorAll("article math")].filter(e => !e.getBoundingClientRect().width).length
  + document.querySelectorAll("article .arithmatex").length"""


def build(folder: Path) -> int:
    """Build the site; the number of warnings, or of errors that ended it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "docs/site/mkdocs.yml", "-d", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet)
    return done.stderr.count("WARNING") + (done.returncode != 0)


def dead_links(site: Path) -> list[str]:
    """Links within the site whose file, or whose place in it, does not exist."""
    pages = {
        path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html") if path.name != "404.html"
    }
    places = {path: set(re.findall(r'\s(?:id|name)="([^"]+)"', text)) for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', text)):
            parts = urlsplit(link.replace("&amp;", "&"))
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists() or (place and target in places and place not in places[target] | {"__tabbed"}):
                dead.append(f"{path.name}: {link}")
    return dead


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _search(page: Any, root: str) -> list[str]:
    """Searches whose first result is not on the page that has it."""
    failed = []
    for words, expected in SEARCHES.items():
        page.goto(f"{root}/index.html")
        result = page.locator(".md-search-result__link").first
        with contextlib.suppress(Exception):  # no field or no result within the time: the address below is empty
            page.locator("[data-md-component=search-query]").fill(words, timeout=5_000)
            result.wait_for(state="attached", timeout=10_000)
        found = (result.get_attribute("href") or "") if result.count() else ""
        if expected not in found:
            failed.append(f"'{words}' finds {found or 'nothing'}")
    return failed


def _looked_at(site: Path, shots: Path | None) -> tuple[list[str], list[str], int, int]:
    """Failed searches, what is cut, equations that are not drawn, and all equations; pictures are kept in ``shots``."""
    chromium = next(
        (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None
    )
    if chromium is None:
        raise NotMeasured("needs Chromium, e.g. apt-get install chromium")
    playwright = need("playwright.sync_api", "browser")
    failed: list[str] = []
    cut: list[str] = []
    raw = equations = 0
    with _served(site) as address, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (width, height) in WINDOWS.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            if name == "desktop":
                failed = [*_search(page, address), *_search(page, site.as_uri())]
            for path in PAGES:
                page.goto(f"{site.as_uri()}/{path}.html")
                cut += [f"{path} ({name}): {what}" for what in page.evaluate(_CUT)]
                raw += page.evaluate(_RAW)
                equations += page.locator("article math").count() if name == "desktop" else 0
                if shots is not None:
                    page.screenshot(path=shots / f"{path.replace('/', '_')}_{name}.png")
        browser.close()
    return failed, cut, raw, equations


def site_row(shots: Path | None = None) -> tuple[str, bool]:
    """Build the site and look at it; ``shots`` keeps the pictures."""
    need("material", "site")
    need("latex2mathml", "site")
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve()
        warnings = build(site)
        dead = dead_links(site)
        failed, cut, raw, equations = _looked_at(site, shots)
    text = (
        f"{warnings} warnings; {len(dead)} dead links; {4 - len(failed)} of 4 searches; {equations} equations on "
        f"{len(PAGES)} pages, {raw} not drawn; {len(cut)} things cut on {len(PAGES)} pages, desktop and phone"
    )
    found = [*failed, *dead, *cut]
    return text + (f" ({'; '.join(found[:6])})" if found else ""), not (warnings or found or raw) and equations > 0


ROWS = [
    Measure(
        "site: search served and from disk, equations, 0 dead links, 12 pages' screenshots desktop and phone", "all",
        "0.2: no search, ASCII", site_row,
    )
]  # fmt: skip
