"""What holds for all tests: a machine that is busy with other things makes none of them fail."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
