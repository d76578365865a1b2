"""The images of this project, built without a registry and without a daemon where need be.

A local cluster that must first be told where to pull its images from is no use
on a train or behind a strict firewall. So the images are built here, from the
project's own Dockerfiles, kept as archives, and handed to the cluster's loader.
"""
