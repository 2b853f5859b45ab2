"""HULL, simulated packet by packet: an engine on ns-3 (engine/, in C++), and the report's experiments on it."""
