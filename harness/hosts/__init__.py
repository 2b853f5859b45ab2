"""Programs that run in the hosts of a network, started by `harness.run`; they import no package but this one."""
