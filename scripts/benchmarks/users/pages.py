"""The site, the gallery, the task table, and the report in a real browser."""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import public_names

import casid
from benchmarks.measure import ROOT, NotMeasured, Rows, need, process, scratch
from casid.control import ComputedTorque, nominal
from casid.identification import Checks, ModelOptions, identify
from casid.motion import Sine
from casid.report import report_of
from casid.simulation import Plant, Sensor, simulate

row = Rows()

DOCS = ROOT / "docs"


@contextlib.contextmanager
def _browser() -> Iterator[Any]:
    """Headless Chromium."""
    playwright = need("playwright.sync_api", "browser")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise NotMeasured("needs Chromium, e.g. apt-get install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def undocumented() -> list[str]:
    """Public names of all rooms without a docstring."""
    found = []
    for front in public_names.fronts():
        room = importlib.import_module(front.name)
        for names in front.subjects.values():
            values = [(name, getattr(room, name)) for name, _ in names]
            found += [f"{front.name}.{name}" for name, v in values if callable(v) and not (v.__doc__ or "").strip()]
    return found


def _failing_blocks() -> tuple[int, int]:
    """Python blocks of the pages that raise, of how many pages: each page is one session."""
    failed = pages = 0
    for path in sorted(DOCS.glob("*.md")):
        blocks = re.findall(r"^```(?:python|py)\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        if not blocks:
            continue
        pages += 1
        with scratch() as folder:
            failed += process(sys.executable, "-c", "\n".join(blocks), folder=folder, may_fail=True).returncode != 0
    return failed, pages


@row("site: strict build, links, public names, code", "0 each", "MkDocs --strict")
def _site() -> tuple[str, bool]:
    need("material", "site")
    need("mkdocstrings", "site")
    with scratch() as site:
        warnings, broken = build(site), dead_links(site)
        pages = len(list(site.rglob("*.html")))
    missing = undocumented()
    failed, sessions = _failing_blocks()
    text = (
        f"build with {warnings} warnings, {pages} pages; {len(broken)} broken links; {len(missing)} undocumented "
        f"names; code of {failed} of {sessions} pages fails"
    )
    return text, not (warnings or broken or missing or failed)


@row("gallery pictures, each by one command", ">= 15, <= 60 s each", "scripts/gallery.py")
def _gallery() -> tuple[str, bool]:
    need("PIL", "peers")
    gallery = importlib.import_module("gallery")
    names = [picture.name for picture in gallery.PICTURES]
    with scratch() as folder:
        try:
            seconds = gallery.draw(names, folder)
        except RuntimeError as error:
            return f"fails: {error}", False
    drawn = sum((DOCS / "gallery" / f"{name}.png").is_file() for name in names)
    slowest = max(seconds, key=lambda command: seconds[command])
    text = f"{len(names)} made anew, slowest {seconds[slowest]:.0f} s ({slowest}); {drawn} on the page"
    return text, len(names) >= 15 and max(seconds.values()) <= 60


def task_rows() -> list[list[str]]:
    """Cells of the rows of the task table."""
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]


@row("task table against five peers", ">= 40 tasks of casid backed by a page, the others 'no'", "docs/tasks.md")
def _tasks() -> tuple[str, bool]:
    rows = task_rows()
    linked = [re.fullmatch(r"\[yes\]\(([\w/]+\.md)\)", row[1]) for row in rows]
    backed = sum(bool(found and (DOCS / found[1]).is_file()) for found in linked)
    absent = [row[0] for row in rows if row[1] == "no"]
    whole = backed + len(absent) == len(rows) and backed >= 40
    return f"{len(rows)} rows, {backed} of casid's cells backed by a page; not in casid: {', '.join(absent)}", whole


@row("report in headless Chromium", "0 messages, 0 requests, <= 6 MB", "")
def _report() -> tuple[str, bool]:
    robot = casid.load_robot("panda")
    plant = Plant.of(robot, viscous=0.5)
    gains = np.full(robot.n, 100.0)
    law = ComputedTorque(*nominal(robot), kp=gains, kd=gains / 5)
    done = simulate(plant, law, Sine.within(robot), 20.0, rate=500, sensor=Sensor(torque=0.3))
    model, checks = ModelOptions(terms=("viscous",)), Checks(folds=0)
    text = report_of(identify(robot, done.dataset(), model=model, checks=checks)).html()
    messages: list[str] = []
    asked: list[str] = []
    with _browser() as browser, scratch() as folder:
        path = folder / "report.html"
        path.write_text(text, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1150, "height": 900})
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        bodies = page.locator("svg ellipse").count()
        page.locator("#theme").click()
        page.locator("th").first.click()
    network = [url for url in asked if not url.startswith(("file:", "data:"))]
    size = len(text.encode()) / 1e6
    return (
        f"{len(messages)} messages on the console, {len(network)} requests; {size:.2f} MB, {bodies} bodies drawn",
        not messages and not network and size <= 6 and bodies == robot.n,
    )


@row("first picture: identified bodies within the meshes of their links", "all centres, more than half of each",
     "scripts/gallery.py first")  # fmt: skip
def _first_picture() -> tuple[str, bool]:
    need("PIL", "peers")
    need("trimesh", "meshes")
    gallery = importlib.import_module("gallery")
    with scratch() as folder:
        try:
            rows = gallery.first(folder)
        except RuntimeError as error:
            raise NotMeasured(str(error)) from None
    named = [page for page in ("README.md", "docs/index.md") if "arm_links.png" in (ROOT / page).read_text("utf-8")]
    inside, shares = sum(row[1] for row in rows), [row[2] for row in rows]
    text = (
        f"{inside} of {len(rows)} centres of mass, {100 * min(shares):.0f} to {100 * max(shares):.0f} % of a body "
        f"within its shape; first on {len(named)} of 2 pages"
    )
    return text, inside == len(rows) and min(shares) > 0.5 and len(named) == 2


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
_CUT = Path(__file__).with_name("cut.js")
#: Equations whose drawing has no extent, or that were left as LaTeX.
_RAW = """() => [...document.querySelectorAll("article math")].filter(e => !e.getBoundingClientRect().width).length
  + document.querySelectorAll("article .arithmatex").length"""


def build(folder: Path) -> int:
    """Build the site; the number of warnings, or of errors that ended it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "docs/site/mkdocs.yml", "-d", folder]
    done = process(*command, folder=ROOT, may_fail=True, NO_MKDOCS_2_WARNING="1")
    print(done.stderr[-3000:] if done.returncode else "", end="")
    return done.stderr.count("WARNING") + (done.returncode != 0)


def dead_links(site: Path) -> list[str]:
    """Links within the site whose file, or whose place in it, does not exist."""
    pages = {
        path.resolve(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
        if path.name != "404.html"  # for servers: its links begin at the server's root
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
    failed: list[str] = []
    cut: list[str] = []
    raw = equations = 0
    with _served(site) as address, _browser() as browser:
        for name, (width, height) in WINDOWS.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            if name == "desktop":
                failed = [*_search(page, address), *_search(page, site.as_uri())]
            for path in PAGES:
                page.goto(f"{site.as_uri()}/{path}.html")
                cut += [f"{path} ({name}): {what}" for what in page.evaluate(_CUT.read_text("utf-8"))]
                raw += page.evaluate(_RAW)
                equations += page.locator("article math").count() if name == "desktop" else 0
                if shots is not None:
                    page.screenshot(path=shots / f"{path.replace('/', '_')}_{name}.png")
    return failed, cut, raw, equations


@row("site: search served and from disk, equations, 0 dead links, 12 pages' screenshots desktop and phone", "all",
     "0.2: no search, ASCII")  # fmt: skip
def site_row(shots: Path | None = None) -> tuple[str, bool]:
    """Build the site and look at it; ``shots`` keeps the pictures."""
    need("material", "site")
    need("latex2mathml", "site")
    with scratch() as site:
        warnings = build(site)
        dead = dead_links(site)
        failed, cut, raw, equations = _looked_at(site, shots)
    text = (
        f"{warnings} warnings; {len(dead)} dead links; {4 - len(failed)} of 4 searches; {equations} equations on "
        f"{len(PAGES)} pages, {raw} not drawn; {len(cut)} things cut on {len(PAGES)} pages, desktop and phone"
    )
    found = [*failed, *dead, *cut]
    return text + (f" ({'; '.join(found[:6])})" if found else ""), not (warnings or found or raw) and equations > 0
