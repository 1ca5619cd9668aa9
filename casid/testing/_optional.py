"""Packages that comparisons need and the library does not."""

from __future__ import annotations

import importlib
from types import ModuleType


class NotMeasured(Exception):
    """A comparison that cannot be made on this machine; the text gives the reason."""


def need(module: str, extra: str = "peers") -> ModuleType:
    """Import an optional module.

    Parameters
    ----------
    module
        Its name.
    extra
        The extra of casid that installs it; empty where none does.

    Raises
    ------
    NotMeasured
        If it is not installed; the message names what to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        how = f"casid[{extra}]" if extra else f"{module}, in an environment of its own"
        raise NotMeasured(f"needs the package '{module}' (pip install {how})") from None
