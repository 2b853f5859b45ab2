"""The paper's brain, pure: demand estimation, the two placement algorithms and the scheduling loop."""
