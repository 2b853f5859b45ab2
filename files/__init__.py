"""The ground floor: files that other users may have had a hand in, and whose rights are used for them.

`writer` writes whole files and folders, `reader` reads what others wrote, `rights` says who does so, `places` walks
there; `private` keeps programs. It imports nothing of ours.
"""
