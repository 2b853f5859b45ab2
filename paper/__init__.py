"""The paper's other figures and tables, one module each: `compute` its typed rows, `draw` them, `command`."""
