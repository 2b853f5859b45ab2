import msgspec

from harness.scenes import stage
from hifi import buffers


def test_many_scenes_are_several_guests():
    many = [buffers.scene(buffers.APPENZELLER, 400, "reno", n, buffers.QUICK) for n in range(10, 30)]
    groups = list(stage._groups(many))
    assert [scene for group in groups for scene in group] == many
    assert len(groups) > 1
    assert all(len(msgspec.json.encode(group)) <= stage.LONGEST_ARGUMENT for group in groups)
