from controllers.switches import Barriers


class Recorder:
    def __init__(self):
        self.asked = []

    def barrier(self, dpid, xid):
        self.asked.append((dpid, xid))


def barriers():
    driver = Recorder()
    return driver, Barriers(driver, iter(range(1, 100)).__next__)


def test_done_comes_once_with_the_last_reply():
    driver, group = barriers()
    done = []
    group.confirm([7, 8], lambda: done.append(1))
    assert driver.asked == [(7, 1), (8, 2)]
    group.reply(8, 2)
    group.reply(8, 2)
    group.reply(7, 2)  # another switch's number
    assert done == []
    group.reply(7, 1)
    group.reply(7, 1)
    assert done == [1]


def test_nobody_to_ask_is_done_at_once():
    done = []
    barriers()[1].confirm([], lambda: done.append(1))
    assert done == [1]


def test_a_lost_switch_is_not_waited_for():
    _, group = barriers()
    done = []
    group.confirm([7, 8], lambda: done.append("both"))
    group.confirm([8], lambda: done.append("one"))
    group.lost(7)
    assert done == []
    group.lost(8)
    assert done == ["both", "one"]
    group.reply(8, 2)
    assert done == ["both", "one"]


def test_groups_do_not_mix():
    _, group = barriers()
    done = []
    group.confirm([7], lambda: done.append("first"))
    group.confirm([7], lambda: done.append("second"))
    group.reply(7, 2)
    assert done == ["second"]
