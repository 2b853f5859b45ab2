"""The paper's other figures and tables, one module each: `compute` makes typed rows, `draw` a picture of them;
`command` is the command."""
