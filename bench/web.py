"""How fast the pages are: what the server takes for each, what a browser does, what watching costs.

    python bench/web.py [--json] [--samples 40] [--only pages,weight,browser,watching]

One server process, SQLite, on loopback; what a page takes is from sending the request to having its last
byte, so a little more than the server's own time. `cpu_ms` is the processor time of the server for one of
them, which a busy machine changes less. Where the system allows it, all of this goes before whatever else
runs there.
"""

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from machine import TICKS_PER_S
from support.server_process import Api, House, house_in
from web_data import COMPARED_STEPS, RUNS, SCENARIOS, STEPS, VARIATIONS, Seeded, seeded

MOST_MS, MOST_KB, MOST_LOAD_S, MOST_CORE = 150.0, 250.0, 1.0, 0.20
WATCHERS, WATCHED_S = 200, 12.0
PREFERRED = -10
PARTS = ("pages", "weight", "browser", "watching")
EMPTY_PAGES = (
    *(
        "/",
        "/agents",
        "/agents/new",
        "/datasets",
        "/datasets/new",
        "/runs",
        "/batches",
        "/evals",
        "/evals/new",
    ),
    *("/review", "/settings", "/search?q=1"),
)
Report = dict[str, Any]


def main() -> None:
    options = _options()
    wanted = options.only.split(",")
    with suppress(OSError):
        os.nice(PREFERRED)  # what is started from here on inherits it
    report: Report = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_before": round(os.getloadavg()[0], 2),
        "goals": [],
    }
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if "weight" in wanted:
            _weight(Path(folder) / "empty", report)
        if set(wanted) & {"pages", "browser", "watching"}:
            house, api, told = stack.enter_context(seeded(Path(folder)))
            client = stack.enter_context(closing(signed_in(api)))
            if "pages" in wanted:
                _pages(house, client, told, options.samples, report)
            if "browser" in wanted:
                _browser(client, told, report)
            if "watching" in wanted:
                _watching(house, api, client, told, report)
    print(json.dumps(report, indent=2) if options.json else _text(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--only", default=",".join(PARTS))
    return parser.parse_args()


def signed_in(api: Api) -> httpx2.Client:
    client = httpx2.Client(base_url=api.url, timeout=120)
    assert client.post("/sign-in", data={"key": api.key}).status_code == 303
    return client


def measured_pages(told: Seeded) -> dict[str, str]:
    first, second = told.compared
    return {
        f"runs list, {RUNS:,} runs": "/runs",
        f"{RUNS:,} runs by duration": "/runs?sort=duration",
        f"{RUNS:,} runs, failures first, with a tag": "/runs?sort=failures&tag=refund",
        f"{RUNS:,} runs by label and date": "/runs?label=none&since=2026-01-01",
        f"trace, {STEPS:,} steps, first page": f"/runs/{told.long_run}",
        f"heatmap, {SCENARIOS} × {VARIATIONS}": f"/evals/{told.matrix}",
        "two matrices as one heatmap": f"/compare/matrices?from={told.matrix}&to={told.matrix}",
        f"compare, two runs of {COMPARED_STEPS:,} steps": f"/compare/runs?from={first}&to={second}",
        "home": "/",
        "a batch": f"/batches/{told.batch}",
        "batches": "/batches",
    }


def _pages(house: House, client: httpx2.Client, told: Seeded, samples: int, report: Report) -> None:
    report["pages"] = {}
    for name, path in measured_pages(told).items():
        _check(client, path)
        took, used = [], _used_s(house)
        for _ in range(samples):
            began = time.perf_counter()
            size = len(client.get(path).content)
            took.append((time.perf_counter() - began) * 1000)
        places = statistics.quantiles(took, n=20)
        figures = {
            "p50_ms": round(places[9], 1),
            "p95_ms": round(places[18], 1),
            "cpu_ms": round((_used_s(house) - used) / samples * 1000, 1),
            "kb": round(size / 1000, 1),
        }
        report["pages"][name] = figures
        _goal(report, f"{name}: p95 ≤ {MOST_MS:g} ms", figures["p95_ms"], MOST_MS)


def _weight(folder: Path, report: Report) -> None:
    """HTML of a page without data, and every file that it names, as they are before compression."""
    report["weight_kb"] = {}
    with house_in(folder) as house, closing(signed_in(house.open())) as client:
        for path in EMPTY_PAGES:
            answered = _check(client, path)
            files = set(re.findall(r'(?:src|href)="(/ui/static/[^"]+)"', answered.text))
            size = len(answered.content) + sum(len(client.get(file).content) for file in files)
            report["weight_kb"][path] = round(size / 1000, 1)
    heaviest = max(report["weight_kb"].values())
    _goal(report, f"page weight without data ≤ {MOST_KB:g} kB", heaviest, MOST_KB)


def _browser(client: httpx2.Client, told: Seeded, report: Report) -> None:
    """Each page in a window that has seen none before; the middle of three."""
    from playwright.sync_api import sync_playwright

    from support.browser import CHROMIUM, FLAGS

    base = str(client.base_url).rstrip("/")
    cookies: Any = [{"name": name, "value": value, "url": base} for name, value in client.cookies.items()]
    loads: dict[str, float] = {}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for path in dict.fromkeys((*measured_pages(told).values(), *EMPTY_PAGES)):
            _check(client, path)
            took = []
            for _ in range(3):
                context = browser.new_context(base_url=base)
                context.add_cookies(cookies)
                page = context.new_page()
                page.goto(path, wait_until="load")
                page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
                took.append(
                    page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
                )
                context.close()
            loads[path] = round(statistics.median(took), 3)
        browser.close()
    report["first_load_s"] = loads
    _goal(report, f"first load of any page ≤ {MOST_LOAD_S:g} s", max(loads.values()), MOST_LOAD_S)


def _watching(house: House, api: Api, client: httpx2.Client, told: Seeded, report: Report) -> None:
    """Processor time of the server over a batch that goes on, with 200 people watching and with none."""
    alone = _watched(house, api, client, told, watchers=0)
    watched = _watched(house, api, client, told, watchers=WATCHERS)
    report["watching"] = {"alone_core": alone[0], "watched_core": watched[0], "events_each": watched[1]}
    _goal(report, f"{WATCHERS} watchers ≤ {MOST_CORE:.0%} of a core", watched[0] - alone[0], MOST_CORE)


def _watched(
    house: House, api: Api, client: httpx2.Client, told: Seeded, *, watchers: int
) -> tuple[float, float]:
    """How much of a core the server took, and how many events each watcher got."""
    batch = api.batch_of(told.agent, told.watched_dataset, concurrency=4, repeats=3)
    page = client.get(f"/batches/{batch}").text
    found = re.search(r'sse-connect="([^"]+)"', page)
    stop, counts = threading.Event(), [0] * watchers
    try:
        assert found is not None, "the page of a running batch has no sse-connect"
        for at in range(watchers):
            threading.Thread(
                target=_watch, args=(client, found[1].replace("&amp;", "&"), stop, counts, at), daemon=True
            ).start()
        time.sleep(3)  # all are connected
        before, began = _used_s(house), time.perf_counter()
        events = sum(counts)
        time.sleep(WATCHED_S)
        core = (_used_s(house) - before) / (time.perf_counter() - began)
        return round(core, 3), round((sum(counts) - events) / max(1, watchers), 1)
    finally:
        stop.set()
        api.post(f"/api/batches/{batch}/cancel")
        api.ended(batch)


def _watch(client: httpx2.Client, path: str, stop: threading.Event, counts: list[int], at: int) -> None:
    with (
        suppress(httpx2.HTTPError),  # the server stops
        httpx2.Client(base_url=client.base_url, cookies=client.cookies, timeout=30) as own,
        own.stream("GET", path) as response,
    ):
        for line in response.iter_lines():
            counts[at] += line.startswith("data:")
            if stop.is_set():
                return


def _used_s(house: House) -> float:
    assert house.node is not None
    fields = Path(f"/proc/{house.node.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def _check(client: httpx2.Client, path: str) -> httpx2.Response:
    answered = client.get(path)
    assert answered.status_code == 200, f"{path} answers {answered.status_code}"
    return answered


def _goal(report: Report, what: str, figure: float, most: float) -> None:
    report["goals"].append({"goal": what, "figure": round(figure, 3), "reached": figure <= most})


def _text(report: Report) -> str:
    lines = [f"{report['machine']}, load {report['load_before']}", ""]
    for name, figures in report.get("pages", {}).items():
        shown = f"p50 {figures['p50_ms']:>6.1f}  p95 {figures['p95_ms']:>6.1f} ms"
        shown += f"  cpu {figures['cpu_ms']:>5.1f} ms  {figures['kb']:>7.1f} kB"
        lines.append(f"{name:44}{shown}")
    for title in ("weight_kb", "first_load_s", "watching"):
        if title in report:
            lines += ["", title, *(f"  {name:42}{figure:>8}" for name, figure in report[title].items())]
    lines += [
        "",
        *(
            f"{'reached' if goal['reached'] else 'MISSED':9}{goal['figure']:>9}  {goal['goal']}"
            for goal in report["goals"]
        ),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
