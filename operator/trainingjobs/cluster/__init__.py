"""The only importer of an API client: what is there, and how to change it."""
