"""This operator beside its peers and the raw floor, on one private API server: `make bench`."""
