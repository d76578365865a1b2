"""The reference pages of docs/, written from the code that they describe.

A page that somebody has to keep up by hand is wrong a month later. What the models, the commands
and the frameworks say of themselves is written down by `make generate`, and a test compares.
"""
