"""PLB (Qureshi et al., SIGCOMM '22) by flows: one that lacks a fifth of its demand in three rounds draws anew."""

ENOUGH, ROUNDS = 0.8, 3


class Plb:
    def __init__(self, tree, rng, options):
        self.tree, self.rng, self.slow = tree, rng, {}

    def route(self, flow, links):
        return self.draw(flow.src, flow.dst)

    def place(self, flows, links):
        core, before, self.slow = flows.core.copy(), self.slow, {}
        for flow, key in enumerate(flows.key.tolist()):
            slow = flows.rate[flow] < ENOUGH * flows.demand[flow]
            self.slow[key] = before.get(key, 0) + 1 if slow else 0
            if self.slow[key] == ROUNDS:
                core[flow] = self.draw(flows.src[flow], flows.dst[flow])
                self.slow[key] = 0
        return core

    def draw(self, src, dst):
        return self.rng.choice(self.tree.path_cores(int(src), int(dst)))
