"""What the documents claim, each beside the data that it is taken from, and the command that makes these.

A claim's words are made from the committed CSV, as they are spelled in its document: where the document says another
number, they are not in it. `docs/claims.md` is the table of all of them; ``hedera claims`` tells it, writes it, and
runs their commands again.
"""
