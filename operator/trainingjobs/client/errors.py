"""What a client may raise; apart from what makes them, which needs the HTTP client's libraries."""


class ClientError(Exception):
    """What went wrong, and what to do about it, in one line."""


class NotFoundError(ClientError):
    """No such object."""


class NotInstalledError(ClientError):
    """The cluster knows no TrainingJobs."""


class RefusedError(ClientError):
    """The API server does not take it: its words are the message."""


class ExistsError(RefusedError):
    """Another object has this name."""


class UnreachableError(ClientError):
    """No answer: the same may work in a moment."""


class GoneError(ClientError):
    """The job was deleted while somebody waited for it."""


class TooLateError(ClientError, TimeoutError):
    """What was waited for did not come in time."""
