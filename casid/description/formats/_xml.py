"""XML whose elements know where they stand in the file, so that a few of them can be replaced and the rest kept."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
from numpy.typing import ArrayLike

from casid.arrays import Array
from casid.description._document import RawJoint, base_link
from casid.description._placement import ANGLE_TOLERANCE, number, unit_axis
from casid.description._robot import Inertial, Link
from casid.errors import RobotError, RobotWarning
from casid.files import number_list

Element = ElementTree.Element
#: Entries of an inertia tensor as URDF and SDF name them.
SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
#: A tag to its end: values of attributes may hold ``>``.
_TAG = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*>""")


def shaped(content: bytes, where: str, *tags: str) -> int:
    """Number of elements that hold one of these tags as a child."""
    found = XmlFile(content, where)
    return len({found.parents[element] for tag in tags for element in found.root.iter(tag) if element in found.parents})


class XmlFile:
    """A parsed file: its root element, and the span of bytes of every element.

    Raises
    ------
    RobotError
        For text that is not well-formed XML, and for document type definitions: a robot needs none, and entities can
        blow up a parser.
    """

    def __init__(self, content: bytes, where: str) -> None:
        self.content = content = content.lstrip()  # some tools write an empty line before the declaration
        self.where = where
        self._spans: dict[Element, tuple[int, int, int]] = {}  # start, end of the start tag, end
        self.parents: dict[Element, Element] = {}
        stack: list[Element] = []
        deepest = sys.getrecursionlimit() // 2  # what walks through elements calls itself
        starts: list[int] = []
        parser = expat.ParserCreate()
        roots: list[Element] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            element = Element(tag, attributes)
            if stack:
                stack[-1].append(element)
                self.parents[element] = stack[-1]
            else:
                roots.append(element)
            stack.append(element)
            if len(stack) > deepest:
                raise RobotError(f"{where}: has elements nested more than {deepest} deep")
            starts.append(parser.CurrentByteIndex)

        def end(tag: str) -> None:
            element, begin, here = stack.pop(), starts.pop(), parser.CurrentByteIndex
            tag_end = self._tag_end(begin)
            empty = content[begin:tag_end].endswith(b"/>")
            self._spans[element] = (begin, tag_end, tag_end if empty else self._tag_end(here))

        def text(data: str) -> None:
            if stack and not len(stack[-1]):
                stack[-1].text = (stack[-1].text or "") + data

        def doctype(*_: object) -> NoReturn:
            raise RobotError(
                f"{where}: has a document type definition (<!DOCTYPE ...>), which casid does not read; remove it"
            )

        if not content.strip():
            raise RobotError(f"{where}: is empty")
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, doctype
        try:
            parser.Parse(content, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise RobotError(f"{where}: not well-formed XML: {error}") from error
        self.root = roots[0]

    def _tag_end(self, begin: int) -> int:
        """Where the tag that begins here ends."""
        found = _TAG.match(self.content, begin)
        return len(self.content) if found is None else found.end()

    def retagged(self, element: Element, values: Mapping[str, str | None]) -> bytes:
        """The element with some attributes set (``None``: removed), its content as it was."""
        begin, tag_end, end = self._spans[element]
        attributes = {name: value for name, value in {**element.attrib, **values}.items() if value is not None}
        tag = text_of(node(element.tag, attributes)).encode("ascii", "xmlcharrefreplace")
        whole = tag if self.content[begin:tag_end].endswith(b"/>") else tag[:-2] + b">"
        return whole + self.content[tag_end:end]

    def indent(self, element: Element) -> str:
        """White space before an element on its line; none where something else stands before it."""
        begin = self._spans[element][0]
        line = self.content[self.content.rfind(b"\n", 0, begin) + 1 : begin]
        return line.decode("ascii") if not line.strip() and line.isascii() else ""

    def _step(self, element: Element | None) -> str:
        """Indentation inside an element, as that of its first child; two blanks where it has none."""
        pad, inner = ("", "") if element is None or not len(element) else map(self.indent, (element, element[0]))
        return inner[len(pad) :] if inner.startswith(pad) and len(inner) > len(pad) else "  "

    def inertial_edits(
        self,
        links: Iterable[tuple[str, Element]],
        inertials: Mapping[str, Inertial | None],
        written: Callable[[Inertial], Element],
    ) -> tuple[dict[Element, bytes | None], dict[Element, bytes]]:
        """What gives links other bodies, as `edited` takes it: elements in place of their own, and text inside links.

        Parameters
        ----------
        links
            Name and element of each link.
        inertials
            Name -> its new body; ``None``: none.
        written
            A body as an element.
        """
        edits: dict[Element, bytes | None] = {}
        inside: dict[Element, bytes] = {}
        for name, link in links:
            if name not in inertials:
                continue
            body, found = inertials[name], link.find("inertial")
            pad = self.indent(link) + "  " if found is None else self.indent(found)
            text = "" if body is None else text_of(written(body), pad, self._step(found))
            if found is not None:
                edits[found] = text.strip().encode() or None
            elif text:
                inside[link] = f"\n{text}".encode()
        return edits, inside

    def edited(self, edits: Mapping[Element, bytes | None], inside: Mapping[Element, bytes]) -> bytes:
        """The file with some elements replaced (``None``: removed) and text put at the begin of others.

        Parameters
        ----------
        edits
            Element -> what stands in its place.
        inside
            Element -> what is put right after its start tag.
        """
        cuts: list[tuple[int, int, bytes]] = []
        for element, new in edits.items():
            begin, _, end = self._spans[element]
            if new is None:  # with the white space before it, so that no empty line is left
                while begin > 0 and self.content[begin - 1] in b" \t":
                    begin -= 1
                if begin > 0 and self.content[begin - 1 : begin] == b"\n":
                    begin -= 2 if self.content[begin - 2 : begin] == b"\r\n" else 1
                new = b""
            cuts.append((begin, end, new))
        for element, new in inside.items():
            begin, tag_end, end = self._spans[element]
            tag = self.content[begin:tag_end]
            if tag.rstrip().endswith(b"/>"):
                name = element.tag.encode()
                opened = tag[: tag.rindex(b"/>")].rstrip() + b">"
                cuts.append((begin, end, opened + new + b"\n" + self.indent(element).encode() + b"</" + name + b">"))
            else:
                cuts.append((tag_end, tag_end, new))
        content = self.content
        for begin, end, new in sorted(cuts, key=lambda cut: cut[0], reverse=True):
            content = content[:begin] + new + content[end:]
        return content


def turned(inertia: Array, rotation: Array) -> Array:
    """``R I R'``, shape (3, 3), symmetric to the last bit."""
    if np.array_equal(rotation, np.eye(3)):
        return inertia
    matrix = rotation @ inertia @ rotation.T
    return np.asarray((matrix + matrix.T) / 2)


class Elements:
    """Numbers and names of one file's elements; every message starts with the file's name.

    Parameters
    ----------
    where
        The file, for messages.
    tolerance
        Angles this close to a multiple of pi/2 count as that multiple [rad].
    """

    def __init__(self, where: str, tolerance: float = ANGLE_TOLERANCE) -> None:
        self.where = where
        self.tolerance = tolerance
        self.angles: list[tuple[str, float]] = []  # as read, for `angle_notes`

    def fail(self, message: str) -> NoReturn:
        """Raise a `RobotError` that starts with the file."""
        raise RobotError(f"{self.where}: {message}")

    def name(self, element: Element) -> str:
        """The attribute ``name``."""
        name = element.get("name")
        if not name:
            self.fail(f"a <{element.tag}> has no name")
        return name

    def child(self, element: Element | None, tag: str, what: str) -> Element | None:
        """The one child with a tag; ``None`` without it. Readers differ in which of two they take: refused."""
        found = [] if element is None else element.findall(tag)
        if len(found) > 1:
            self.fail(f"{what} has {len(found)} elements <{tag}>, at most one is allowed; keep the one that holds")
        return next(iter(found), None)

    def parse(self, text: str, count: int | None, shown: str) -> list[float]:
        """Finite numbers separated by spaces; any count where ``None``. Commas alone between them give a warning."""
        words = text.split()
        if count not in (None, 1) and text.count(",") + 1 == count:
            words = text.split(",")
        values = number_list(words)
        if values is None:
            expected = "numbers separated by spaces" if count is None else f"{count} numbers separated by spaces"
            self.fail(f"{shown} is not {'a number' if count == 1 else expected}")
        if count is not None and len(values) != count:
            self.fail(f"{shown} must hold {count} number{'s' if count > 1 else ''}, got {len(values)}")
        if not all(map(math.isfinite, values)):
            self.fail(f"{shown} must be finite")
        if "," in text:
            warnings.warn(
                f"{self.where}: {shown} has commas between its numbers, which not every reader takes; write spaces",
                RobotWarning,
                stacklevel=2,
            )
        return values

    def numbers(
        self, element: Element | None, key: str, count: int | None, what: str, default: Sequence[float] | None = None
    ) -> list[float]:
        """Numbers of an attribute; without a default it must be there, and so must the element."""
        text = None if element is None else element.get(key)
        if element is None or text is None:
            if default is None:
                self.fail(f"{what}: <{'?' if element is None else element.tag}> has no attribute '{key}'")
            return list(default)
        return self.parse(text, count, f'{what}: <{element.tag} {key}="{text}">')

    def number(self, element: Element | None, key: str, what: str, default: float | None = None) -> float:
        """One number of an attribute."""
        return self.numbers(element, key, 1, what, None if default is None else (default,))[0]

    def axis(self, vector: ArrayLike, what: str) -> Array:
        """Unit vector along a joint's axis, shape (3,)."""
        try:
            return unit_axis(vector, self.tolerance)
        except ValueError as error:
            self.fail(f"{what}: {error}")

    def tree(self, links: Mapping[str, Link], joints: Sequence[RawJoint]) -> Link:
        """The base of the tree that links and joints form."""
        mentioned = {name for joint in joints for name in (joint.parent, joint.link.name)}
        base = base_link(joints, [name for name in links if name not in mentioned], self.where)
        return links.get(base, Link(base))

    def unique(self, link: Link, links: dict[str, Link]) -> None:
        """Add a link to those of the file."""
        if link.name in links:
            self.fail(f"two links are named '{link.name}'; link names must be unique")
        links[link.name] = link

    def leader(self, mimic: Element, what: str, hint: str = "") -> str:
        """The joint that ``<mimic>`` names."""
        leader = mimic.get("joint")
        if not leader:
            self.fail(f"{what}: <mimic> names no joint{hint}")
        return leader

    def text_numbers(self, element: Element | None, count: int, what: str, default: Sequence[float]) -> list[float]:
        """Numbers that are an element's text."""
        if element is None or not (element.text or "").strip():
            return list(default)
        text = (element.text or "").strip()
        return self.parse(text, count, f"{what}: <{element.tag}>{text}</{element.tag}>")

    def text_number(self, element: Element | None, what: str, default: float) -> float:
        """One number that is an element's text."""
        return self.text_numbers(element, 1, what, (default,))[0]


def term_words(terms: Mapping[str, float], names: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Joint terms that are not zero, by the format's names for their symbols."""
    return {key: number(terms[symbol]) for key, symbol in names if terms.get(symbol)}


def node(name: str, attributes: Mapping[str, str], *inside: Element | str) -> Element:
    """An element of a new file with its attributes and what is inside: other elements, or its text."""
    made = Element(name, dict(attributes))
    for part in inside:
        if isinstance(part, str):
            made.text = part
        else:
            made.append(part)
    return made


def text_of(element: Element, pad: str = "", step: str = "  ") -> str:
    """An element as indented lines, with white space before each."""
    ElementTree.indent(element, step)
    text = ElementTree.tostring(element, encoding="unicode").replace(" />", "/>")  # ">" elsewhere is "&gt;"
    return "\n".join(pad + line for line in text.split("\n"))


def document(root: Element) -> bytes:
    """A new file."""
    return f'<?xml version="1.0"?>\n{text_of(root)}\n'.encode()
