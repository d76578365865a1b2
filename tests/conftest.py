"""What holds for all tests: a machine that is busy with other things makes none of them fail."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# a helper's assert tells its values, too
pytest.register_assert_rewrite(*(path.stem for path in Path(__file__).parent.iterdir()))

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# a shell's background job ignores these, and so would each program that the tests interrupt;
# what has a handler here has none in a new program
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)
