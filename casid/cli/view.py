"""Commands for looking: ``view``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def view(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A robot, solution.json, identification.json, trajectory.toml, a recording, a folder."
        ),
    ],
    robot: Annotated[
        str | None, typer.Option(metavar="ROBOT", help="Whose parameters or motion FILE holds, if it does not say.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the page here; default: a temporary file.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Show any file of casid in the browser: the robot to turn and move, curves to zoom. One page, no network."""
    import tempfile
    import webbrowser

    from casid.files import write_files
    from casid.files._write import prepare_directory
    from casid.report.viewer import view as page_of

    content = page_of(file, robot)
    if out is None:
        out = Path(tempfile.mkdtemp(prefix="casid-")) / "view.html"
    (written,) = write_files(prepare_directory(out.parent), {out.name: content})
    typer.echo(f"Written to {written}")
    if browser and not webbrowser.open(written.resolve().as_uri()):
        typer.echo("note: no browser found here; open the file with one, on any machine", err=True)
