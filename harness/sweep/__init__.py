"""Many runs: planned, carried out, stored, resumed, shown."""
