"""A node image for kind, made without an image registry.

Docker is often there where Docker Hub is not. What a node holds can all be had from package
registries: Debian, the programs of the local cluster, and kind's own files from its Go module.
"""
