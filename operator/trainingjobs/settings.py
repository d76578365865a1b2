"""The operator's settings, read from the environment once and passed on as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an administrator may choose, with the defaults of the chart."""

    namespaces: tuple[str, ...] = ()
    """The namespaces to serve; none means all."""
    cluster_domain: str = "cluster.local"
    port: int = 8080
    """Where /healthz, /readyz and /metrics are served."""
    parallel_writes: int = 32
    resync_seconds: float = 300.0
    report_url: str = ""
    """Where pods send their reports, as `http://HOST:8081/api/v1/reports`; none: no roll call."""
    report_port: int = 8081
    """Where reports are taken and the whole status is told."""
    report_rate: float = 200.0
    """Reports per second that all pods together are asked for."""
    api_tokens: bool = False
    """Tell the whole status to tokens for the API server as well: they travel in plain HTTP."""
    notify: bool = False
    """Whether messages are sent to addresses that users name (`spec.notify`)."""
    notify_http: bool = False
    """Also to addresses that begin with http://."""
    notify_networks: tuple[str, ...] = ()
    """Also into these private networks, as `10.1.0.0/16`."""
    lease: str = ""
    """The Lease that the leader holds, as `NAMESPACE/NAME`; none: this operator is alone."""
    log_level: str = "INFO"
    log_format: str = "json"


def from_environment(environ: Mapping[str, str]) -> Settings:
    """The settings in variables that start with `TRAININGJOBS_`.

    Raises:
        ValueError: when a number, a place or a network is none, with the variable's name.
    """
    default = Settings()
    return Settings(
        namespaces=tuple(environ.get("TRAININGJOBS_NAMESPACES", "").replace(",", " ").split()),
        cluster_domain=environ.get("TRAININGJOBS_CLUSTER_DOMAIN", default.cluster_domain),
        port=int(_number(environ, "TRAININGJOBS_PORT", default.port)),
        parallel_writes=int(
            _number(environ, "TRAININGJOBS_PARALLEL_WRITES", default.parallel_writes)
        ),
        resync_seconds=_number(environ, "TRAININGJOBS_RESYNC_SECONDS", default.resync_seconds),
        report_url=environ.get("TRAININGJOBS_REPORT_URL", default.report_url).strip(),
        report_port=int(_number(environ, "TRAININGJOBS_REPORT_PORT", default.report_port)),
        report_rate=_number(environ, "TRAININGJOBS_REPORT_RATE", default.report_rate),
        api_tokens=_switch(environ, "TRAININGJOBS_API_TOKENS"),
        notify=_switch(environ, "TRAININGJOBS_NOTIFY"),
        notify_http=_switch(environ, "TRAININGJOBS_NOTIFY_HTTP"),
        notify_networks=_networks(environ, "TRAININGJOBS_NOTIFY_NETWORKS"),
        lease=_place(environ, "TRAININGJOBS_LEASE"),
        log_level=environ.get("TRAININGJOBS_LOG_LEVEL", default.log_level).upper(),
        log_format=environ.get("TRAININGJOBS_LOG_FORMAT", default.log_format),
    )


def _switch(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() == "true"


def _networks(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    found = tuple(environ.get(name, "").replace(",", " ").split())
    for text in found:
        try:
            ip_network(text)
        except ValueError as error:
            raise ValueError(f"{name} has {text!r}: {error}") from None
    return found


def _place(environ: Mapping[str, str], name: str) -> str:
    text = environ.get(name, "").strip()
    if text and not all(text.partition("/")):
        raise ValueError(f"{name} is {text!r}: it must be a namespace and a name, such as a/b")
    return text


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, str(default))
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}: it must be a number, such as {default:g}") from None
