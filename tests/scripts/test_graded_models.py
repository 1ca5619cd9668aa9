"""Grades of models in wheels: unphysical and placeholder bodies are counted, files that are refused are named."""

import zipfile

import graded_models
import pytest

LINK = """<link name="{name}"><inertial><origin xyz="0 0 0.1"/><mass value="{mass}"/>
<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
<axis xyz="0 1 0"/><origin xyz="0 0 0.3"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>"""


def urdf(*moments):
    """A chain of links with these principal moments."""
    links = [LINK.format(name=f"l{k}", mass=1, xx=m[0], yy=m[1], zz=m[2]) for k, m in enumerate(moments)]
    joints = [
        JOINT.format(name=f"j{k}", parent="base" if k == 0 else f"l{k - 1}", child=f"l{k}") for k in range(len(moments))
    ]
    return f"<robot name='r'><link name='base'/>{''.join(links)}{''.join(joints)}</robot>"


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "models-1.0-py3-none-any.whl"
    good = urdf((0.02, 0.02, 0.01), (0.01, 0.02, 0.02))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("models-1.0.dist-info/METADATA", "Name: models\nVersion: 1.0\nLicense: MIT\n")
        archive.writestr("models/a_good.urdf", good)
        archive.writestr("models/b_same.urdf", good.replace("name='r'", "name='s'"))
        archive.writestr("models/c_bad.urdf", urdf((0.1, 0.01, 0.01), (0.02, 0.02, 0.02)))
        archive.writestr("models/d_broken.urdf", good.replace('<child link="l1"/>', '<child link="nowhere"/>'))
        archive.writestr("models/e_one_joint.urdf", urdf((0.02, 0.02, 0.01)))
    return path


def test_models_of_a_wheel_are_graded(wheel):
    facts, grades, variants = graded_models.package(wheel, None)
    assert facts == {"name": "models", "version": "1.0", "licence": "MIT"} and variants == 1
    good, bad, broken = grades
    assert (good.file, good.joints, good.bodies, good.unphysical) == ("models/a_good.urdf", 2, 2, 0)
    assert (bad.unphysical, bad.isotropic, bad.read) == (1, 1, True)
    assert not broken.read and "nowhere" in broken.verdict
    text = graded_models.page([(facts, grades, variants)])
    assert "| models/c\\_bad.urdf | 2 | 2 | 1 | 1 |" in text and "models/d\\_broken.urdf" in text
