"""The plain client: an interrupt is an interrupt."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from client.served import a_kubeconfig
from trainingjobs.client.sync import TrainingJobClient

pytestmark = pytest.mark.timeout(20)


class Interrupted:
    """A future whose waiter is interrupted as soon as the work has begun."""

    def __init__(self, future: Any, begun: threading.Event) -> None:
        self.future, self.begun = future, begun

    def result(self) -> Any:
        """Ctrl-C comes while this is waited for."""
        self.begun.wait()
        raise KeyboardInterrupt

    def cancel(self) -> None:
        """The work is not wanted any more."""
        self.future.cancel()


def test_an_interrupt_of_a_stream_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, steps = threading.Event(), list[str]()
    real = asyncio.run_coroutine_threadsafe

    async def lines(name: str, **how: Any) -> AsyncIterator[str]:
        try:
            yield f"{name} {min(how)}"
            begun.set()
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)  # connections take a while to close
            steps.append("closed")

    with TrainingJobClient(kubeconfig=str(a_kubeconfig(tmp_path))) as client:
        monkeypatch.setattr(client._client, "get_job_logs", lines)  # noqa: SLF001
        stream = client.get_job_logs("m", follow=True)
        assert next(stream)  # type: ignore[truthy-bool]

        def once(work: Any, loop: Any) -> Any:
            monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", real)
            return Interrupted(real(work, loop), begun)

        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", once)
        with pytest.raises(KeyboardInterrupt):
            next(stream)
        assert steps == ["closed"]
