"""A ring over the hosts in a random order, and mice that come and go: two patterns of one's own."""


def ring(tree, rng):
    order = rng.permutation(tree.num_hosts)
    return zip(order, [*order[1:], order[0]], strict=True)


def mice(tree, rng):
    start_s = 0.0
    for _ in range(200):
        start_s += rng.exponential(0.02)
        src, dst = rng.choice(tree.num_hosts, size=2, replace=False)
        yield src, dst, start_s, 10_000
