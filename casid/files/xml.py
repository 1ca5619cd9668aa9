"""XML without document types and entities, which robot files never need and which can blow up a parser."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

from casid.errors import CasidError
from casid.files.limits import read_bytes
from casid.files.words import reason

#: Most elements inside one another.
_DEPTH = 500


class _Refused(Exception):
    """Content that is not read."""


class _Builder(ElementTree.TreeBuilder):
    """Refuses document type definitions and endless nesting."""

    _depth = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> NoReturn:
        raise _Refused("has a document type definition (<!DOCTYPE ...>), which casid does not read; remove it")

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        self._depth += 1
        if self._depth > _DEPTH:
            raise _Refused(f"has elements nested more than {_DEPTH} deep")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ElementTree.Element:
        self._depth -= 1
        return super().end(tag)


def read_xml(path: str | Path, what: str, error: type[CasidError], *, comments: bool = False) -> ElementTree.Element:
    """Root element of an XML file; see `parse_xml`."""
    return parse_xml(read_bytes(path, what, error), Path(path).name, error, comments=comments)


def parse_xml(content: bytes, where: str, error: type[CasidError], *, comments: bool = False) -> ElementTree.Element:
    """Root element of an XML text.

    Parameters
    ----------
    content
        The file's bytes; the XML declaration says how they are encoded.
    where
        Name of the file, for messages.
    error
        Class of the error to raise.
    comments
        Keep comments, so that the file can be written again.

    Raises
    ------
    CasidError
        Of the class ``error``: not well-formed, a document type definition, or nested too deeply.
    """
    parser = ElementTree.XMLParser(target=_Builder(insert_comments=comments))
    try:
        element: ElementTree.Element = ElementTree.fromstring(content, parser)
    except _Refused as refusal:
        raise error(f"{where}: {refusal}") from None
    except (ElementTree.ParseError, ValueError, LookupError, MemoryError) as problem:
        raise error(f"{where}: not well-formed XML: {reason(problem)}") from None
    return element
