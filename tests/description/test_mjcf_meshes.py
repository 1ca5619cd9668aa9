"""Mass properties of MJCF meshes, beside closed forms and MuJoCo."""

import numpy as np
import pytest

from casid.description import load_robot
from casid.errors import RobotError
from casid.inertia import to_standard

_CORNERS = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)]
#: A prism over the letter L: not convex, of volume 4.
VERTICES = np.array([(x, y, z) for z in (0, 1) for x, y in _CORNERS], dtype=float)
_LID = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
FACES = [face for a, b, c in _LID for face in ((a, c, b), (a + 6, b + 6, c + 6))]
FACES += [face for i in range(6) for j in [(i + 1) % 6] for face in ((i, j, j + 6), (i, j + 6, i + 6))]


def _words(numbers):
    return " ".join(map(repr, np.ravel(numbers).tolist()))


def _inline(extra=""):
    return f'<mesh name="L" vertex="{_words(VERTICES)}" face="{_words(FACES)}" {extra}/>'


def _body(folder, geoms, asset="", compiler=""):
    """The body of a link with these geoms."""
    body = f"<worldbody><body name='b'><joint/>{geoms}</body></worldbody>"
    (folder / "m.xml").write_text(f"<mujoco><compiler {compiler}/><asset>{asset}</asset>{body}</mujoco>")
    (link,) = load_robot(folder / "m.xml").links
    assert link.inertial is not None
    return link.inertial


def _mesh(folder, asset, compiler="", name="L"):
    return _body(folder, f'<geom type="mesh" mesh="{name}" density="1"/>', asset, compiler)


def test_the_volume_by_each_rule(tmp_path):
    # two boxes, 2 x 1 and 1 x 2, of height 1
    exact = _mesh(tmp_path, _inline('inertia="exact"'))
    assert exact.mass == pytest.approx(4.0)
    np.testing.assert_allclose(exact.com, [(2 * 1.0 + 2 * 0.5) / 4, (2 * 0.5 + 2 * 2.0) / 4, 0.5])
    boxes = 2 * (4 + 1) / 12 + 2 * 0.25**2 + 2 * 0.75**2 + 2 * (1 + 4) / 12 + 2 * 0.25**2 + 2 * 0.75**2
    assert exact.inertia_com[2, 2] == pytest.approx(boxes)
    for words, volume in (('inertia="convex"', 5), ('inertia="shell"', 18), ('inertia="exact" scale="1 -2 1"', 8)):
        assert _mesh(tmp_path, _inline(words)).mass == pytest.approx(volume)
    assert 4.0 < _mesh(tmp_path, _inline()).mass < 5.0  # legacy counts too much of a hollow body
    assert _mesh(tmp_path, f'<mesh name="L" vertex="{_words(VERTICES)}"/>').mass == pytest.approx(5.0)


def test_the_files_of_meshes(tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="needs the extra meshes")
    (tmp_path / "parts").mkdir()
    solid = trimesh.Trimesh(VERTICES, FACES, process=False)
    solid.export(tmp_path / "parts" / "a.stl")
    solid.export(tmp_path / "parts" / "b.obj")
    for file in ("a.stl", "b.obj"):
        for compiler, address in (('meshdir="parts"', file), ('strippath="true" assetdir="parts"', f"C:/x/{file}")):
            made = _mesh(tmp_path, f'<mesh file="{address}" inertia="exact"/>', compiler, file[0])
            assert made.mass == pytest.approx(4.0, rel=1e-6), (file, compiler)
            np.testing.assert_allclose(made.com, [0.75, 1.25, 0.5], rtol=1e-6)


@pytest.mark.parametrize(
    ("asset", "words"),
    [
        ('<mesh name="other" vertex="0 0 0"/>', "body 'b': there is no mesh 'L'"),
        ('<mesh name="L"/>', "neither a file nor vertices"),
        ('<mesh name="L" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 9"/>', "faces of vertices that it does not have"),
        ('<mesh name="L" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>', "no convex hull"),
        ('<mesh name="L" vertex="0 0 0 1 0 0 0 1 0 1 1 0" face="0 1 2"/>', "volume is 0"),
        ('<mesh name="L" file="none.stl"/>', "none.stl"),
        ('<mesh name="L" file="torn.msh"/>', "'torn.msh' (cannot be read|is not a binary STL)"),
        (_inline('inertia="solid"'), "'solid' is not one of legacy, convex, exact, shell"),
        (_inline('inertia="exact" scale="1 1 0"'), "volume is"),
    ],
)
def test_meshes_without_a_volume_are_named(tmp_path, asset, words):
    (tmp_path / "torn.msh").write_bytes(b"123")
    with pytest.raises(RobotError, match=words):
        _mesh(tmp_path, asset)


@pytest.mark.claim("masses of meshes are those of MuJoCo")
@pytest.mark.parametrize(
    "words",
    [
        "",
        'inertia="convex"',
        'inertia="exact" scale="1 2 -0.5" refpos="1 0.5 0.3" refquat="0.5 0.5 -0.5 0.5"',
        'inertia="shell"',
        'refpos="0.3 0.1 0"',
    ],
)
def test_bodies_of_meshes_beside_mujoco(tmp_path, words):
    mujoco = pytest.importorskip("mujoco", reason="needs the extra peers")
    geom = '<geom type="mesh" mesh="L" pos="0.1 0.2 0.3" quat="0.3 0.4 0.5 0.6"/>'
    ours = _body(tmp_path, geom, _inline(words)).standard_parameters()
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, theirs.body_iquat[1])
    R = turn.reshape(3, 3)
    expected = to_standard(theirs.body_mass[1], theirs.body_ipos[1], R @ np.diag(theirs.body_inertia[1]) @ R.T)
    np.testing.assert_allclose(ours, expected, atol=1e-12 * expected.max())
