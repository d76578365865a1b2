"""What is counted of the reports, of the answers and of the questions to the API server."""

from collections.abc import Callable

import prometheus_client as prometheus

from trainingjobs.handlers.metrics import PREFIX

ANSWERS = ("200", "400", "401", "403", "404", "405", "408", "413", "415", "429", "500", "503")
ROUTES = ("reports", "trainingjobs", "page", "other")


class Tallies:
    """Series of the roll call's service; all of them exist from the start."""

    def __init__(
        self, registry: prometheus.CollectorRegistry, processes: Callable[[], float]
    ) -> None:
        self.answers = prometheus.Counter(
            f"{PREFIX}_rollcall_requests",
            "Requests to the roll call's service, by what they were for and the answer's code.",
            ["route", "code"],
            registry=registry,
        )
        self.seconds = prometheus.Histogram(
            f"{PREFIX}_rollcall_request_seconds",
            "How long such a request took.",
            buckets=(0.001, 0.002, 0.005, 0.02, 0.1, 0.5, 2, 10),
            registry=registry,
        )
        gauge = prometheus.Gauge(
            f"{PREFIX}_rollcall_processes",
            "Training processes that report.",
            registry=registry,
        )
        gauge.set_function(processes)
        for route in ROUTES:
            for code in ANSWERS:
                self.answers.labels(route, code)

    def count(self, route: str, code: int, seconds: float) -> None:
        """One request was answered."""
        self.answers.labels(route, str(code)).inc()
        self.seconds.observe(seconds)
