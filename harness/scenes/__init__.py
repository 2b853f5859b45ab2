"""Scenes: some senders, one switch, one receiver, played in guests and looked at closely."""
