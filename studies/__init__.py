"""The founding documents again: the paper (`paper`), the replication report (`replication`), Mininet-HiFi (`hifi`) and
HULL (`hull`). Their figures and tables are each a `study.Study`.

What is no figure of theirs: numbers in documents against data (`claims`, `document_numbers`), and commands that read
sweeps for one question (`acknowledgements`, `settled_shares`, and `mice` and `waiting` of `hull`).
"""
