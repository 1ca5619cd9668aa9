"""The command ``feasible``: whether given base parameters belong to bodies that can exist, and the nearest that do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from casid.cli import options as o
from casid.cli.shared import RobotArgument, TermsOption, out_folder, present
from casid.errors import DatasetError
from casid.files import comma_list, listed, near

if TYPE_CHECKING:
    from casid.arrays import Array
    from casid.dynamics import BaseParameters


@o.grouped
def feasible(
    robot: RobotArgument,
    values: Annotated[
        Path,
        typer.Argument(
            metavar="BETA", help="CSV of base parameters: columns 'parameter' (as `casid base` names them) and 'value'."
        ),
    ],
    options: o.RobotOptions,
    consistency: Annotated[
        Literal["full", "semi"],
        typer.Option("--set", help="full: bodies that can exist; semi: only m > 0 and I > 0 (Sousa 2014)."),
    ] = "full",
    terms: TermsOption = "",
    out: Annotated[Path | None, typer.Option(help="Folder for the nearest feasible parameters.")] = None,
) -> None:
    """Test whether base parameters are feasible, proven; the nearest feasible ones. Exit code 1 if they are not."""
    from casid.dynamics import Model
    from casid.identification.repair import feasibility_test
    from casid.report import report_of

    folder = out_folder(out)
    model = Model(options.robot(robot), comma_list(terms))
    found = feasibility_test(model, _values(values, model.base), consistency=consistency)
    present(report_of(found, base=model.base, consistency=consistency), folder)
    if not found.feasible:
        raise typer.Exit(1)


def _values(path: Path, base: BaseParameters) -> Array:
    """Values of the base parameters in their order, by leading parameter or expression."""
    import numpy as np

    from casid.files import csv_table, number_list, read_text

    table = csv_table(read_text(path, "base parameters", DatasetError), str(path), DatasetError)
    header = [name.lower() for name in table.header]
    missing = [name for name in ("parameter", "value") if name not in header]
    if missing:
        raise DatasetError(f"{path}: needs the columns 'parameter' and 'value', it has {listed(table.header)}")
    known = {name: k for k, names in enumerate(zip(base.names, base.expressions, strict=True)) for name in names}
    found = np.full(base.rank, np.nan)
    for number, row in enumerate(table.rows(str(path), DatasetError), start=1):
        name, text = (row[header.index(column)].strip() for column in ("parameter", "value"))
        if name not in known:
            raise DatasetError(
                f"{path}, row {number}: '{name}' is no base parameter of this robot{near(name, known)}; they are "
                f"{listed(base.names)} (other joint terms: --terms)"
            )
        numbers = number_list([text])
        if numbers is None or not np.isfinite(numbers[0]):
            raise DatasetError(f"{path}, row {number}, column 'value': expected a finite number, got '{text}'")
        found[known[name]] = numbers[0]
    absent = [name for name, value in zip(base.names, found, strict=True) if np.isnan(value)]
    if absent:
        raise DatasetError(f"{path}: no value of {listed(absent)}; all {base.rank} base parameters are needed")
    return found
