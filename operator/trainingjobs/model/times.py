"""Times as Kubernetes writes them: UTC, whole seconds, a Z at the end."""

from datetime import UTC, datetime


def parse_time(text: str | None) -> datetime | None:
    """The time in a manifest, or None where there is none."""
    return None if text is None else datetime.fromisoformat(text)


def write_time(time: datetime) -> str:
    """The time as Kubernetes writes it; the fraction of a second is cut."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
