"""The page for people: static files, and streams of what changes, for whoever may see it."""
