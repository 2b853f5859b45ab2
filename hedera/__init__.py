"""The paper's scheduler as pure functions: demand estimation, placement algorithms and the scheduling loop."""
