"""What holds for all tests: a machine that is busy with other things makes none of them fail."""

import signal

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell's background job ignores it, and so would each program that the tests interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)
