class Ring:
    """Four switches in a ring, two hosts at each. A cable between switches carries 2.5 times what a host's does."""

    hosts = 8

    def links(self):
        for host in range(self.hosts):
            yield host, f"s{host // 2}"
        for switch in range(4):
            yield f"s{switch}", f"s{(switch + 1) % 4}", 2.5

    def paths(self, src, dst):
        a, b = src // 2, dst // 2
        right = [f"s{i % 4}" for i in range(a, a + (b - a) % 4 + 1)]
        left = [f"s{i % 4}" for i in range(a, a - (a - b) % 4 - 1, -1)]
        return [right, left]
