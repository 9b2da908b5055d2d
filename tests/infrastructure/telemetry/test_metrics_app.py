import logging
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.infrastructure.telemetry.metrics_app import WsgiApp, metrics_app


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Counter("seen", "Seen.", registry=registry).inc()
    return registry


def asked(app: WsgiApp, method: str = "GET") -> tuple[str, str]:
    """The status and the body."""
    statuses: list[str] = []

    def start(status: str, headers: list[Any]) -> None:
        statuses.append(status)

    body = b"".join(app({"REQUEST_METHOD": method, "PATH_INFO": "/metrics"}, start))
    return statuses[0], body.decode()


def test_what_is_done_before_is_shown_already(registry: CollectorRegistry) -> None:
    later = Counter("later", "Later.", registry=registry)

    status, body = asked(metrics_app(registry, before=later.inc))

    assert status == "200 OK"
    assert "later_total 1.0" in body


def test_while_the_store_is_away_what_is_known_is_shown(
    registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> None:
        raise StoreUnavailable("no route to sk-canary-0123456789abcdef")

    with caplog.at_level(logging.WARNING, "turnkeeper"):
        status, body = asked(metrics_app(registry, before=away))

    assert (status, "seen_total 1.0" in body) == ("200 OK", True)
    assert caplog.messages == ["the metrics are not up to date: no route to [redacted]"]


def test_nothing_can_be_posted(registry: CollectorRegistry) -> None:
    assert asked(metrics_app(registry), "POST")[0] == "405 Method Not Allowed"
