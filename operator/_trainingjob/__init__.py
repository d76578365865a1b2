"""The reporter in the pods: what is behind `trainingjob.report`, and never under that name.

A module of the user's may be called trainingjob: it is the one that is imported then.
"""
