"""A page on 127.0.0.1 that follows a sweep."""
