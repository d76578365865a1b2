"""Whose token it is: asked once, asked of those alone for whom it could be true, and bounded."""

import asyncio
import itertools
from typing import Any

import pytest

from handlers.instant import run
from handlers.pods import AUDIENCE, Authority, a_token
from trainingjobs.cluster.errors import ApiError
from trainingjobs.cluster.gate import BusyError, Crowd, Gate
from trainingjobs.cluster.memo import Bounded, Memo
from trainingjobs.cluster.passes import Passes, TokenError, meant_for
from trainingjobs.cluster.reviews import Reviews, User, get_job

TODAY = 1_000_000.0


def api(authority: Authority) -> Any:
    return authority


def now() -> float:
    return asyncio.get_running_loop().time()


def passes(authority: Authority, rate: float = 1000.0) -> Passes:
    gate = Gate(rate, Crowd(100, 8), now)
    return Passes(Reviews(api(authority)), gate, now, lambda: TODAY + now())


async def proof(of: Passes, token: str) -> str:
    return (await of.proof(token, of.read(token), "10.0.0.1")).pod_uid


def token(**claims: Any) -> str:
    return a_token(**{"exp": int(TODAY) + 3600, **claims})


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ("", "bound to a pod"),
        ("a.b", "bound to a pod"),
        ("a.%%%.c", "bound to a pod"),
        ("a.W10.c", "bound to a pod"),
        ("a.bnVsbA.c.d", "bound to a pod"),
        (f"a.{'W' * 8000}.c", "bound to a pod"),
        (token(**{"kubernetes.io": {"namespace": "lab"}}), "bound to a pod"),
        (token(exp="soon"), "bound to a pod"),
        (token(exp=10**30), "bound to a pod"),
        (token(aud=["https://kubernetes.default.svc"]), AUDIENCE),
        (token(aud=f"{AUDIENCE}/more"), AUDIENCE),
        (token(aud=[]), AUDIENCE),
        (token(exp=int(TODAY)), "expired"),
    ],
)
def test_what_a_token_says_itself_can_be_enough(shown: str, words: str) -> None:
    authority = Authority()
    with pytest.raises(TokenError, match=words):
        _read(authority, shown)
    assert authority.calls == []


def _read(authority: Authority, shown: str) -> None:
    async def scenario() -> None:
        passes(authority).read(shown)

    run(scenario())


@pytest.mark.parametrize("audiences", [[AUDIENCE], AUDIENCE, ["x", AUDIENCE]])
def test_a_token_may_name_its_audience_in_two_ways(audiences: Any) -> None:
    assert meant_for(token(aud=audiences), AUDIENCE)


def test_a_token_is_asked_about_once_however_many_show_it() -> None:
    async def scenario() -> None:
        authority = Authority()
        of = passes(authority)
        assert await asyncio.gather(*[proof(of, token()) for _ in range(50)]) == ["pod-0"] * 50
        assert await proof(of, token()) == "pod-0"
        assert authority.calls == [("tokenreviews", {"token": token(), "audiences": [AUDIENCE]})]

    run(scenario())


def test_it_is_asked_about_again_after_ten_minutes_or_when_it_expires() -> None:
    async def scenario(lives: int, asked_after: float) -> None:
        authority = Authority()
        of, shown = passes(authority), token(exp=int(TODAY) + lives)
        await proof(of, shown)
        await asyncio.sleep(asked_after - 1)
        await proof(of, shown)
        assert authority.asked() == 1
        await asyncio.sleep(2)
        if lives > asked_after:
            await proof(of, shown)
            assert authority.asked() == 2
        else:
            with pytest.raises(TokenError, match="expired"):
                of.read(shown)

    run(scenario(3600, 600))
    run(scenario(300, 300))


def test_a_refusal_is_remembered_for_a_while() -> None:
    async def scenario() -> None:
        authority = Authority(revoked={token()})
        of = passes(authority)
        for _ in range(10):
            with pytest.raises(TokenError, match="does not take"):
                await proof(of, token())
        assert authority.asked() == 1
        authority.revoked.clear()
        await asyncio.sleep(31)
        assert await proof(of, token()) == "pod-0"

    run(scenario())


@pytest.mark.parametrize(
    "says",
    [
        {"authenticated": True},
        {"authenticated": True, "audiences": ["https://kubernetes.default.svc"]},
        {"authenticated": False, "audiences": [AUDIENCE]},
        {"authenticated": True, "audiences": [AUDIENCE], "user": {"username": "jo"}},
        {},
    ],
)
def test_only_the_whole_word_of_the_api_server_counts(says: dict[str, Any]) -> None:
    """An authenticator that does not know of audiences leaves them out of its answer."""

    class Sloppy(Authority):
        def tokenreviews(self, _: Any) -> Any:
            return says

    async def scenario() -> None:
        with pytest.raises(TokenError):
            await proof(passes(Sloppy()), token())

    run(scenario())


@pytest.mark.parametrize(
    "lie",
    [
        {"kubernetes.io": {"namespace": "lab", "pod": {"name": "mnist-0", "uid": "pod-1"}}},
        {"kubernetes.io": {"namespace": "lab", "pod": {"name": "mnist-1", "uid": "pod-0"}}},
        {"kubernetes.io": {"namespace": "other", "pod": {"name": "mnist-0", "uid": "pod-0"}}},
    ],
)
def test_what_a_token_says_must_be_what_the_api_server_says(lie: dict[str, Any]) -> None:
    """The words are read before anybody has checked the signature."""
    truth = Authority().tokenreviews({"token": token(), "audiences": [AUDIENCE]})

    class Strict(Authority):
        def tokenreviews(self, _: Any) -> Any:
            return truth

    async def scenario() -> None:
        of = passes(Strict())
        assert await proof(of, token()) == "pod-0"
        with pytest.raises(TokenError):
            await proof(of, token(**lie))

    run(scenario())


def test_an_api_server_that_is_away_is_no_refusal() -> None:
    async def scenario() -> None:
        authority = Authority(down=True)
        of = passes(authority)
        with pytest.raises(ApiError):
            await proof(of, token())
        authority.down = False
        assert await proof(of, token()) == "pod-0"

    run(scenario())


def test_no_more_than_so_many_are_asked_about_in_a_second() -> None:
    async def scenario() -> None:
        authority, started = Authority(), now()
        of = passes(authority, rate=10)
        for number in range(40):
            await proof(of, token(jti=number))
        # a second's worth at once, the others one after the other
        assert now() - started == pytest.approx(3.0, abs=0.2)

    run(scenario())


def test_one_address_waits_for_its_own_turns_alone() -> None:
    async def scenario() -> None:
        gate = Gate(10, Crowd(100, 8), now)
        came: list[str] = []

        async def ask(address: str) -> None:
            async with gate.turn(address):
                came.append(address)

        hostile = [asyncio.create_task(ask("10.6.6.6")) for _ in range(1000)]
        await asyncio.sleep(0)
        await asyncio.gather(*[ask(f"10.0.0.{it}") for it in range(5)])
        assert now() < 1.5
        refused = await asyncio.gather(*hostile, return_exceptions=True)
        # the first second's worth went to whoever was first, and then so many at one time
        assert came.count("10.6.6.6") <= 10 + 8
        assert sum(isinstance(it, BusyError) for it in refused) >= 1000 - 10 - 8

    run(scenario())


def test_whoever_would_wait_for_too_long_is_told_when_to_come_again() -> None:
    async def scenario() -> None:
        gate = Gate(1, Crowd(100, 100), now)

        async def ask(number: int) -> float:
            try:
                async with gate.turn(str(number)):
                    return 0.0
            except BusyError as error:
                return error.seconds

        waits = await asyncio.gather(*[ask(it) for it in range(20)])
        assert [it > 4 for it in waits] == [False] * 5 + [True] * 15

    run(scenario())


def test_a_slow_api_server_keeps_most_of_its_connections() -> None:
    async def scenario() -> None:
        gate, inside = Gate(1000, Crowd(1000, 1000), now), Crowd(8, 8)

        async def ask() -> None:
            async with gate.turn("a"):
                with inside.room("a"):
                    await asyncio.sleep(30)

        await asyncio.gather(*[ask() for _ in range(40)])

    run(scenario())


def test_whoever_asked_first_may_go_away() -> None:
    async def scenario() -> None:
        memo: Memo[str, int] = Memo(10, now)
        asked = itertools.count(1)

        async def ask() -> tuple[int, float]:
            number = next(asked)
            await asyncio.sleep(5)
            return number, 60

        first = asyncio.create_task(memo.get("a", ask))
        await asyncio.sleep(1)
        second = asyncio.create_task(memo.get("a", ask))
        await asyncio.sleep(1)
        first.cancel()
        assert await second == 1
        assert await memo.get("a", ask) == 1

    run(scenario())


def test_memory_is_bounded_and_keeps_what_is_used() -> None:
    known: Bounded[int, int] = Bounded(3)
    for number in range(10):
        known.put(number, number)
        known.get(0)
    assert len(known) == 3
    assert [known.get(it) for it in (0, 1, 7, 8, 9)] == [0, None, None, 8, 9]


def test_rights_are_those_of_the_whole_user() -> None:
    async def scenario() -> None:
        authority = Authority(may={("jo", "lab", "mnist")})
        reviews = Reviews(api(authority))
        jo = User(name="jo", uid="7", groups=("a", "b"), extra={"scopes": ("x", "y")})
        assert await reviews.may(jo, get_job("lab", "mnist"))
        assert not await reviews.may(jo, get_job("lab", "other"))
        assert authority.calls[0][1] == {
            "user": "jo",
            "uid": "7",
            "groups": ["a", "b"],
            "extra": {"scopes": ["x", "y"]},
            "resourceAttributes": {
                "group": "trainingjob.dev",
                "version": "v1",
                "resource": "trainingjobs",
                "verb": "get",
                "namespace": "lab",
                "name": "mnist",
            },
        }

    run(scenario())


def test_a_denial_outweighs_a_permission() -> None:
    class Torn(Authority):
        def subjectaccessreviews(self, _: Any) -> Any:
            return {"allowed": True, "denied": True}

    assert not run(Reviews(api(Torn())).may(User(name="jo"), get_job("lab", "mnist")))
