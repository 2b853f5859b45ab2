from itertools import pairwise


class Dragonfly:
    """Five groups of two switches with two hosts each, and a cable between each two groups (Kim et al., ISCA '08).

    The first path between two switches is the shortest; the others go by way of a third group (Valiant's)."""

    groups, hosts = 5, 20

    def links(self):
        for host in range(self.hosts):
            yield host, f"g{host // 4}s{host // 2 % 2}"
        for group in range(self.groups):
            yield f"g{group}s0", f"g{group}s1"
        for a in range(self.groups):
            for b in range(a + 1, self.groups):
                yield self.gateway(a, b), self.gateway(b, a)

    def paths(self, src, dst):
        a, b = src // 4, dst // 4
        ends = f"g{a}s{src // 2 % 2}", f"g{b}s{dst // 2 % 2}"
        if a == b:
            return [ends]
        thirds = [group for group in range(self.groups) if group not in (a, b)]
        return [self.walk(*ends, groups) for groups in ([a, b], *([a, third, b] for third in thirds))]

    def gateway(self, group, to):
        """The switch of a group that has the cable to another one."""
        return f"g{group}s{(to - group - 1) % self.groups // 2}"

    def walk(self, first, last, groups):
        switches = [first]
        for here, next_group in pairwise(groups):
            switches += [self.gateway(here, next_group), self.gateway(next_group, here)]
        return list(dict.fromkeys([*switches, last]))
