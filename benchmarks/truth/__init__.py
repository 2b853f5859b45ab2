"""Is virtual time true? Guests against arithmetic, against themselves, against ns-3, and against real time."""
