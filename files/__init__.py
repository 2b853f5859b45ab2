"""The lowest layer: safe handling of files that other users may have changed, with the right user's rights.

`writer` writes files and folders atomically, `reader` reads files of others, `rights` chooses the user to act as,
`places` opens paths safely, and `private` caches programs. It imports none of our other packages.
"""
