"""The emulated network: namespaces, Open vSwitch, limited links, and what all of it leaves on the machine."""
