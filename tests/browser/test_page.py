"""The page in a real browser, over the real service: what people see, by hand, key and ear."""

import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from browser import stories
from browser.worlds import World, a_world

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.async_api", reason="make browser-test installs it")
IMAGES = Path(__file__).parents[2] / "docs" / "images"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "chromium"
BUSY = 2.0
"""Seconds that the page may be busy on a machine that is busy itself: a quiet one takes a tenth."""
PATIENCE = 30_000
"""Milliseconds until something has to be seen."""
VIEW = {"width": 1000, "height": 760}
MOST_BYTES = 180_000


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with a_world() as world:
        yield world


@pytest.fixture
async def chromium() -> AsyncIterator[Any]:
    playwright.expect.set_options(timeout=PATIENCE)
    async with playwright.async_playwright() as play:
        browser = await play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        await browser.close()


class Tab:
    """A tab that keeps what went wrong in it."""

    def __init__(self, page: Any, world: World) -> None:
        self.page, self.world = page, world
        self.wrong: list[str] = []
        self.asked: set[str] = set()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", self._console)
        page.on("request", lambda request: self.asked.add(request.url.split("/")[2]))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))

    def _console(self, message: Any) -> None:
        # a refused stream is said to the person on the page
        if message.type == "error" and "status of" not in message.text:
            self.wrong.append(message.text)

    async def open(self, at: str = "/", token: str = "root") -> None:  # noqa: S107
        """Open the page as `kubectl tj ui` does."""
        await self.page.goto(f"{self.world.url}/#token={token}&at={at}")

    async def sees(self, text: str) -> None:
        """Wait until this can be read."""
        await playwright.expect(self.page.get_by_text(text).first).to_be_visible()

    async def stands(self) -> None:
        """Nothing went wrong, and nobody else was asked for anything."""
        assert self.wrong == []
        assert self.asked == {self.world.url.removeprefix("http://")}


@pytest.fixture
async def tab(chromium: Any, world: World) -> AsyncIterator[Tab]:
    context = await chromium.new_context(viewport=VIEW, reduced_motion="reduce")
    found = Tab(await context.new_page(), world)
    yield found
    await found.stands()
    await context.close()


async def image(tab: Tab, name: str, height: int, of: str = "body") -> None:
    """A screenshot for the documentation, from an element on: kept where that is asked for."""
    top = await tab.page.locator(of).evaluate("it => it.getBoundingClientRect().top + scrollY")
    clip = {"x": 0, "y": max(0, top - 10), "width": VIEW["width"], "height": height}
    shot = await tab.page.screenshot(clip=clip, full_page=True)
    assert shot.startswith(b"\x89PNG")
    assert len(shot) < MOST_BYTES
    if os.environ.get("SCREENSHOTS"):
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / f"{name}.png").write_bytes(shot)


async def axe(tab: Tab) -> None:
    """What a screen reader's user would stumble over; the page's own policy lets no axe in."""
    import axe_playwright_python  # noqa: PLC0415

    source = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
    await tab.page.evaluate(f"() => {{ {source}\n window.axe = window.axe ?? axe; }}")
    for scheme in ("dark", "light"):
        await tab.page.emulate_media(color_scheme=scheme)
        found = await tab.page.evaluate("() => axe.run()")
        told = [
            (it["id"], it["nodes"][0]["html"][:120], it["nodes"][0]["failureSummary"])
            for it in found["violations"]
        ]
        assert told == [], scheme
        assert len(found["passes"]) > 10


async def test_the_token_leaves_the_address_at_once(tab: Tab) -> None:
    stories.running(tab.world)
    await tab.open()
    await tab.sees("lab/mnist")
    assert "token" not in tab.page.url
    history = await tab.page.evaluate(
        "() => performance.getEntriesByType('resource').map(it => it.name)"
    )
    assert not [it for it in history if "root" in it]
    assert await tab.page.evaluate("() => document.cookie + Object.keys(localStorage)") == ""
    await tab.page.reload()
    await tab.sees("lab/mnist")
    await tab.page.get_by_role("button", name="Forget the token").click()
    await tab.sees("Show a token")
    assert await tab.page.evaluate("() => sessionStorage.length") == 0


async def test_without_a_token_it_is_asked_for(tab: Tab) -> None:
    stories.running(tab.world)
    await tab.page.goto(tab.world.url)
    await tab.sees("Show a token")
    await axe(tab)
    await tab.page.get_by_label("Token").fill("nobody")
    await tab.page.keyboard.press("Enter")
    await tab.sees("does not take this token")
    await tab.page.get_by_label("Token").fill("jo")
    await tab.page.keyboard.press("Enter")
    await tab.sees("lab/mnist")


async def test_each_sees_what_he_may(tab: Tab) -> None:
    stories.running(tab.world)
    tab.world.job("secret", namespace="away", phase="Running")
    await tab.open(token="jo")
    await tab.sees("1 jobs")
    await tab.open("/job/away/secret", token="jo")
    await tab.sees("you may not get this TrainingJob")
    await tab.open(token="no")
    await tab.sees("you may list TrainingJobs in none")


async def test_the_list_lives(tab: Tab) -> None:
    stories.running(tab.world)
    stories.stalled(tab.world)
    stories.failed(tab.world)
    tab.world.job("gpt", phase="Pending", ready="0/16", message="0/4 nodes have nvidia.com/gpu")
    tab.world.job("vit", namespace="team-b", phase="Succeeded", ready="4/4", progress="100%")
    await tab.open()
    await tab.sees("! Stalled")
    row = tab.page.get_by_role("row", name="lab/mnist")
    await playwright.expect(row).to_contain_text("41%")
    age = re.compile(r"\b\d+[smhd]")
    await playwright.expect(row.locator("td").nth(5)).to_have_text(age)
    await axe(tab)
    await image(tab, "dashboard-jobs", 480)
    tab.world.job("mnist", phase="Succeeded", ready="8/8", progress="100%")
    await playwright.expect(row).to_contain_text("Succeeded")
    await playwright.expect(row).to_contain_text("100%")


async def test_a_job_that_runs(tab: Tab) -> None:
    stories.running(tab.world)
    await tab.open("/job/lab/mnist")
    await tab.sees("loss: 0.41")
    await tab.sees("8 stepping")
    for name in ("Step", "Steps/s", "loss"):
        curve = tab.page.locator("figure", has_text=re.compile(rf"^{name}: ")).locator("polyline")
        points = await curve.first.get_attribute("points")
        assert points.count(",") > 80, name
    first = tab.page.locator("table.ranks tbody tr").first
    for cell in ("0", "stepping", "4100", "5.1", "train.py:31"):
        await playwright.expect(first).to_contain_text(cell)
    await axe(tab)
    await image(tab, "dashboard-job", 1_120)
    tab.world.says("mnist", 5, 8, stage="ended", steps=4_101, number=9_999)
    await tab.sees("1 ended")


async def test_a_job_that_stalls(tab: Tab) -> None:
    words = stories.stalled(tab.world)
    await tab.open("/job/lab/bert")
    await tab.sees("train.py:17")
    first = tab.page.locator("table.ranks tbody tr").first
    await playwright.expect(first).to_contain_text("in trouble")
    await playwright.expect(first).to_contain_text("bert-worker-2")
    await playwright.expect(tab.page.locator(".state")).to_contain_text(words)
    finding = tab.page.locator("article.finding")
    await playwright.expect(finding).to_contain_text(
        "stands at train.py:17 in load; ranks 0-2, 4-7"
    )
    await playwright.expect(finding).to_contain_text("see what holds it there")
    await playwright.expect(first.locator("td", has_text="all_reduce")).to_have_count(0)
    await playwright.expect(first.locator("code")).to_have_text("train.py:17")
    await axe(tab)
    await image(tab, "dashboard-stalled", 1_250)


async def test_a_job_that_fails(tab: Tab) -> None:
    stories.failed(tab.world)
    await tab.open("/job/lab/llama")
    await tab.sees("Root cause of the last failure: OOMKilled")
    await tab.sees("torch.OutOfMemoryError")
    bars = tab.page.get_by_role("img", name="Attempts on a line of time")
    await playwright.expect(bars.locator("rect")).to_have_count(3)
    await axe(tab)
    await image(tab, "dashboard-failed", 1_250)


async def test_a_thousand_jobs_are_quick(tab: Tab) -> None:
    for number in range(1_000):
        tab.world.job(f"job-{number:04}", phase=("Running", "Failed")[number % 2], ready="4/4")
    await tab.open()
    await tab.sees("1000 jobs")
    assert await tab.page.locator("tbody tr").count() == 50
    started = time.monotonic()
    await tab.page.get_by_label("Filter").fill("job-0777")
    await tab.sees("1 of 1000 jobs")
    assert time.monotonic() - started < BUSY
    await tab.page.get_by_label("Filter").fill("")
    for turn in range(5):
        for number in range(1_000):
            tab.world.job(f"job-{number:04}", phase="Running", ready=f"{turn}/4")
        await asyncio.sleep(0.5)
    spent = await tab.page.evaluate(LONGEST)
    assert spent < 1_000 * BUSY, f"the page was not there for {spent} ms"


LONGEST = """async () => {
  let longest = 0, last = performance.now();
  for (let turn = 0; turn < 60; turn += 1) {
    await new Promise(requestAnimationFrame);
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }
  return longest;
}"""
"""The longest time between two frames of the next second or so."""


async def test_a_thousand_ranks_are_quick(tab: Tab) -> None:
    stories.running(tab.world, "big", ranks=1_000)
    await tab.open("/job/lab/big")
    await tab.sees("1000 stepping")
    assert await tab.page.locator(".grid .cell").count() == 1_000
    assert await tab.page.locator("table.ranks tbody tr").count() == 50
    for rank in range(1_000):
        tab.world.says("big", rank, 1_000, stage="stepping", steps=5_000, rate=5, number=5_000)
    spent = await tab.page.evaluate(LONGEST)
    assert spent < 1_000 * BUSY, f"the page was not there for {spent} ms"
    await tab.page.get_by_role("listbox").focus()
    await tab.page.keyboard.press("End")
    await tab.sees("rank 999")
    await tab.page.get_by_role("listbox").scroll_into_view_if_needed()
    await image(tab, "dashboard-ranks", 1_150)


async def test_hostile_words_are_words(tab: Tab) -> None:
    stories.hostile(tab.world)
    tab.world.writes("evil-master", f"{stories.HOSTILE}\n" * 3)
    tab.world.happens("evil", stories.HOSTILE, stories.HOSTILE, type=stories.HOSTILE)
    await tab.open()
    await tab.sees("<img src=x")
    await tab.open("/job/lab/evil")
    await tab.sees("<script>document.title")
    await tab.page.get_by_role("button", name="show its log").click()
    log = tab.page.get_by_role("region", name="The last lines of the log")
    await playwright.expect(log).to_contain_text("<script>document.title")
    events = tab.page.get_by_role("region", name="Events of the job")
    await playwright.expect(events).to_contain_text("<script>document.title")
    await asyncio.sleep(0.5)
    assert "owned" not in await tab.page.title()
    assert await tab.page.locator("main script, main img, main iframe").count() == 0
    text = await tab.page.locator("body").inner_text()
    assert not [it for it in text if it in "\x1b\u202e\u202c\u200b\u2066\u2069"]
    assert [it for it in await links(tab) if not it.startswith("#/")] == []
    await axe(tab)


async def links(tab: Tab) -> list[str]:
    found: list[str] = await tab.page.evaluate(
        "() => [...document.querySelectorAll('a')].map(it => it.getAttribute('href'))"
    )
    return found


async def test_keys_are_enough(tab: Tab) -> None:
    stories.running(tab.world)
    stories.stalled(tab.world)
    await tab.open()
    await tab.sees("lab/bert")
    press = tab.page.keyboard.press
    for _ in range(30):
        await press("Tab")
        if await tab.page.evaluate("() => document.activeElement.textContent") == "lab/bert":
            break
    await press("Enter")
    await tab.sees("What is wrong")
    for _ in range(30):
        await press("Tab")
        if (
            await tab.page.evaluate("() => document.activeElement.getAttribute('role')")
            == "listbox"
        ):
            break
    for _ in range(3):
        await press("ArrowRight")
    await playwright.expect(tab.page.locator(".detail")).to_contain_text("rank 3")
    await playwright.expect(tab.page.locator(".detail code").last).to_have_text(
        "kubectl tj logs -f bert -n lab --rank 3"
    )


async def test_the_logs_of_a_rank_are_those_of_its_pod(tab: Tab) -> None:
    """A rank of `logs` is an instance: with two processes in each, rank 5 speaks in pod 2."""
    tab.world.pods("pair", 4)
    tab.world.job("pair", ranks=4, spec={"processesPerInstance": 2}, phase="Running")
    for rank in range(8):
        tab.world.says("pair", rank, 8, processes=2, stage="stepping", steps=7, rate=1)
    await tab.open("/job/lab/pair")
    await tab.sees("8 stepping")
    await tab.page.locator(".grid .cell").nth(5).click()
    await playwright.expect(tab.page.locator(".detail")).to_contain_text("rank 5 (pair-worker-1")
    await playwright.expect(tab.page.locator(".detail code").last).to_have_text(
        "kubectl tj logs -f pair -n lab --rank 2"
    )


async def test_the_log_of_a_rank_is_shown_and_followed(tab: Tab) -> None:
    stories.running(tab.world)
    line = "step {0} of 10000, loss 0.{0}\n"
    tab.world.writes("mnist-worker-1", "".join(line.format(it) for it in range(4_060, 4_101)))
    tab.world.happens("mnist", "Registered", "all 8 ranks joined", lastTimestamp=stories.ago(600))
    tab.world.happens("mnist", "OOMKilled", "rank 3 failed", type="Warning", count=2)
    tab.world.happens("mnist", "FailedMount", "it took a while", uid="mnist-2", type="Warning")
    await tab.open("/job/lab/mnist")
    await tab.sees("8 stepping")
    await tab.page.locator(".grid .cell").nth(2).click()
    await tab.page.get_by_role("button", name="show the log of rank 2").click()
    await tab.sees("mnist-worker-1, attempt 1")
    log = tab.page.get_by_role("region", name="The last lines of the log")
    await playwright.expect(log).to_contain_text("step 4100 of 10000")
    at_end = "it => it.scrollHeight - it.scrollTop - it.clientHeight < 5"
    assert await log.evaluate(at_end)
    await axe(tab)
    await image(tab, "dashboard-log", 1_330, of="#log")
    tab.world.writes("mnist-worker-1", line.format(4_101))
    await playwright.expect(log).to_contain_text("step 4101 of 10000")
    assert await log.evaluate(at_end)
    pods = tab.page.get_by_role("region", name="Events of its pod")
    await playwright.expect(pods).to_contain_text("FailedMount")


async def test_a_log_that_is_not_followed_stays(tab: Tab) -> None:
    stories.running(tab.world)
    tab.world.writes("mnist-master", "step 1\n")
    await tab.open("/job/lab/mnist")
    await tab.page.get_by_role("checkbox", name="follow").uncheck()
    await tab.page.get_by_role("button", name="show its log").click()
    await tab.sees("step 1")
    await tab.sees("Events of its pod: there are none")
    asked = len(tab.world.scene.authority.read)
    tab.world.writes("mnist-master", "step 2\n")
    await asyncio.sleep(4)
    assert await tab.page.get_by_text("step 2").count() == 0
    logs = [it for it, _ in tab.world.scene.authority.read[asked:] if it.endswith("/log")]
    assert logs == []
    await tab.page.get_by_role("checkbox", name="follow").check()
    await tab.sees("step 2")
    await tab.page.get_by_label("Instance").fill("7")
    await tab.page.keyboard.press("Enter")
    await tab.sees("Not shown: this instance has no pod now")


async def test_what_happened_is_told_the_newest_first(tab: Tab) -> None:
    stories.running(tab.world)
    tab.world.happens("mnist", "Registered", "all 8 ranks joined", lastTimestamp=stories.ago(600))
    tab.world.happens("mnist", "OOMKilled", "rank 3 failed", type="Warning", count=2)
    await tab.open("/job/lab/mnist")
    table = tab.page.get_by_role("region", name="Events of the job")
    rows = table.locator("tbody tr")
    await playwright.expect(rows).to_have_count(2)
    await playwright.expect(rows.first).to_contain_text("OOMKilled")
    await axe(tab)


async def test_what_happens_is_told_soon(tab: Tab) -> None:
    """The clock alone would ask after 20 s; a step is nothing that happens."""
    stories.running(tab.world)
    read = tab.world.scene.authority.read
    await tab.open("/job/lab/mnist")
    await tab.sees("Events of the job: there are none")
    await tab.sees("8 stepping")
    stories.running(tab.world, step=4_200)
    await tab.sees("42%")
    await asyncio.sleep(3)
    assert len(read) == 1
    stories.failed(tab.world, "mnist")
    tab.world.happens("mnist", "OOMKilled", "rank 2 failed", type="Warning", count=2)
    table = tab.page.get_by_role("region", name="Events of the job")
    await playwright.expect(table).to_contain_text("OOMKilled", timeout=15_000)
    await asyncio.sleep(3)
    assert len(read) == 2


async def test_a_namespace_that_is_asked_for_is_shown_alone(tab: Tab) -> None:
    stories.running(tab.world)
    tab.world.job("vit", namespace="team-b", phase="Running")
    await tab.open(quote("/?namespace=lab", safe=""))
    await tab.sees("Jobs in lab")
    await tab.sees("1 jobs")


async def test_a_command_is_copied(tab: Tab) -> None:
    stories.running(tab.world)
    await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await tab.open("/job/lab/mnist")
    await tab.page.get_by_role("button", name="Copy the command: describe the job").click()
    await tab.sees("copied")
    told = await tab.page.evaluate("() => navigator.clipboard.readText()")
    assert told == "kubectl tj describe mnist -n lab"


async def test_each_view_has_its_command(tab: Tab) -> None:
    stories.failed(tab.world)
    await tab.open("/job/lab/llama")
    await tab.sees("Conditions, as the resource has them")
    said = await tab.page.locator(".command code").all_inner_texts()
    assert [it.replace(" -n lab", "") for it in said] == [
        "kubectl tj describe llama",
        "kubectl tj why llama",
        "kubectl tj top llama",
        "kubectl tj stacks llama",
        "kubectl tj logs -f llama",
        "kubectl tj describe llama",
        "kubectl describe trainingjob llama",
        "kubectl events --for trainingjob/llama",
        "kubectl get trainingjob llama -o yaml",
    ]


async def test_it_comes_back_when_the_operator_does(tab: Tab) -> None:
    stories.running(tab.world)
    await tab.open()
    await tab.sees("lab/mnist")
    port = int(tab.world.url.rpartition(":")[2])
    await tab.world.scene.service.stop()
    await tab.sees("not live")
    tab.world.job("mnist", phase="Failed")
    await tab.world.scene.service.start(port, "127.0.0.1")
    row = tab.page.get_by_role("row", name="lab/mnist")
    await playwright.expect(row).to_contain_text("Failed")
    tab.wrong.clear()  # the browser itself says that a connection was refused
