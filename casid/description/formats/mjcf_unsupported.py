"""Elements of MJCF that act on the dynamics and that casid does not model: named, never ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from casid.description.formats.mjcf_context import Context
from casid.description.formats.xml import Element
from casid.description.raw import MimicRule

#: Elements below bodies that make more bodies or constraints.
_MAKERS = {
    "flexcomp": "a deformable body",
    "composite": "a body of many parts",
    "replicate": "copies of bodies",
    "attach": "bodies of another model",
}
_TENDON_FORCES = ("stiffness", "damping", "frictionloss", "armature")


def unsupported(root: Element, context: Context) -> tuple[str, ...]:
    """Notes about elements without influence on the model of the links.

    Raises
    ------
    RobotError
        Listing every element whose forces casid does not model: closed loops, deformable bodies, tendons with forces.
    """
    refused = [*_equalities(root, context), *_bodies(root)]
    notes: list[str] = []
    for group in root.findall("tendon"):
        for tendon in group:
            full = context.attributes(tendon, None)
            name = f"tendon '{tendon.get('name', '?')}'"
            forces = [key for key in _TENDON_FORCES if any(context.numbers(full, key, None, name, (0.0,)))]
            if forces:
                refused.append(f"{name} with {', '.join(forces)}")
            else:
                notes.append(f"{name} is not modelled: it only hands on what actuators pull")
    for group in root.findall("deformable"):
        for element in group:
            name = f"{element.tag} '{element.get('name', '?')}'"
            if element.tag == "skin":
                notes.append(f"{name} is not modelled: it has no mass")
            else:
                refused.append(f"{name} (deformable)")
    if float(context.compiler.get("settotalmass", "-1")) > 0:
        refused.append('<compiler settotalmass="...">, which scales all masses')
    if refused:
        context.fail(
            f"has {'; '.join(refused)}: casid does not model {'this' if len(refused) == 1 else 'these'}; remove "
            f'{"it" if len(refused) == 1 else "them"} from the file (or set active="false" where that is possible)'
        )
    for option in root.findall("option"):
        for key in ("density", "viscosity", "wind"):
            if any(context.numbers(option, key, None, "option", (0.0,))):
                notes.append(f"<option {key}>: forces of the surrounding medium are not modelled")
    helped = [e.get("name", "?") for e in root.iter("body") if any(context.numbers(e, "gravcomp", 1, "body", (0.0,)))]
    if helped:
        notes.append(f"gravcomp of bodies {', '.join(helped)} is not modelled: all links weigh what they weigh")
    return tuple(notes)


def _equalities(root: Element, context: Context) -> Iterator[str]:
    for group in root.findall("equality"):
        for element in group:
            full = context.attributes(Element("equality", element.attrib), None)
            if full.get("active", "true") == "false":
                continue
            name = f"equality {element.tag} '{element.get('name', '?')}'"
            if element.tag != "joint":
                yield name
            elif "joint2" not in element.attrib:
                yield f"{name}, which holds joint '{element.get('joint1', '?')}' (lock that joint instead)"
            elif any(context.numbers(element, "polycoef", None, name, (0.0, 1.0))[2:]):
                yield f"{name}, whose polycoef is not linear"


def _bodies(root: Element) -> Iterator[str]:
    for element in root.iter():
        if element.tag in _MAKERS:
            yield f"<{element.tag}> '{element.get('name', element.get('prefix', '?'))}' ({_MAKERS[element.tag]})"


def joint_couplings(root: Element, context: Context, references: Mapping[str, float]) -> dict[str, MimicRule]:
    """Linear couplings of two joints, ``q1 - ref1 = a0 + a1 (q2 - ref2)``, by the name of the first."""
    rules: dict[str, MimicRule] = {}
    for group in root.findall("equality"):
        for element in group.findall("joint"):
            if element.get("active", "true") == "false" or "joint2" not in element.attrib:
                continue
            follower, leader = element.get("joint1", ""), element.get("joint2", "")
            what = f"equality joint '{element.get('name', '?')}'"
            for joint in (follower, leader):
                if joint not in references:
                    context.fail(f"{what}: there is no hinge or slide joint '{joint}'")
            if follower in rules:
                context.fail(f"{what}: joint '{follower}' already follows joint '{rules[follower].joint}'")
            a0, a1 = [*context.numbers(element, "polycoef", None, what, (0.0, 1.0)), 0.0, 0.0][:2]
            rules[follower] = MimicRule(leader, a1, a0 + references[follower] - a1 * references[leader])
    return rules
