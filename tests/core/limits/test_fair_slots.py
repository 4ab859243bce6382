"""Slots by turns: never idle while someone waits, nobody passed over, order kept within a batch."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder

pytestmark = pytest.mark.anyio


@dataclass
class Floor:
    """Jobs that hold a slot until the test lets go of them."""

    slots: FairSlots
    running: list[tuple[SlotHolder, int]] = field(default_factory=list)
    order: list[tuple[SlotHolder, int]] = field(default_factory=list)  # in which they got their slots
    tasks: dict[tuple[SlotHolder, int], "asyncio.Task[None]"] = field(default_factory=dict)
    _ends: dict[tuple[SlotHolder, int], asyncio.Event] = field(default_factory=dict)

    async def ask(self, place: SlotHolder) -> None:
        job = (place, len(self.tasks))
        self._ends[job] = asyncio.Event()

        async def work() -> None:
            async with self.slots.slot(place):
                self.running.append(job)
                self.order.append(job)
                try:
                    await self._ends[job].wait()
                finally:
                    self.running.remove(job)

        self.tasks[job] = asyncio.create_task(work())
        await self.settle()

    async def end(self, job: tuple[SlotHolder, int]) -> None:
        self._ends[job].set()
        await self.settle()

    async def give_up(self, job: tuple[SlotHolder, int]) -> None:
        self.tasks[job].cancel()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(4):
            await asyncio.sleep(0)

    def waiting(self) -> list[tuple[SlotHolder, int]]:
        return [job for job, task in self.tasks.items() if not task.done() and job not in self.running]

    def held(self) -> Counter[int]:
        return Counter(place.org_id for place, _ in self.running)


PLACES = st.builds(SlotHolder, st.integers(1, 3), st.integers(1, 2))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), PLACES),
        st.tuples(st.sampled_from(["end", "give up"]), st.integers(0, 50)),
    ),
    max_size=40,
)


@given(st.integers(1, 5), st.integers(0, 2), STEPS)
def test_slots_are_never_idle_never_too_many_and_orders_are_kept(slots, guests, steps):
    asyncio.run(play(slots, guests, steps))


async def play(slots: int, guests: int, steps: list[tuple[str, object]]) -> None:
    floor = Floor(FairSlots(slots, guests=guests))
    for what, of in steps:
        if what == "ask":
            assert isinstance(of, SlotHolder)
            await floor.ask(of)
        else:
            jobs = floor.running if what == "end" else [*floor.running, *floor.waiting()]
            if jobs:
                assert isinstance(of, int)
                job = jobs[of % len(jobs)]
                await (floor.end(job) if what == "end" else floor.give_up(job))
        look(floor, slots, guests)
    while floor.running:  # nobody is passed over for ever: all end by themselves
        await floor.end(floor.running[0])
        look(floor, slots, guests)
    assert not floor.waiting()
    assert (floor.slots.held, floor.slots.waiting) == (0, 0)


def look(floor: Floor, slots: int, guests: int) -> None:
    held, waiting = floor.held(), floor.waiting()
    assert (floor.slots.held, floor.slots.waiting) == (len(floor.running), len(waiting))
    assert len(floor.running) <= slots + guests
    assert not waiting or len(floor.running) >= slots
    if waiting and len(floor.running) < slots + guests:
        share = max(1, slots // len(held.keys() | {place.org_id for place, _ in waiting}))
        assert all(held[place.org_id] >= share for place, _ in waiting)
    for place in {place for place, _ in floor.order}:
        numbers = [number for other, number in floor.order if other == place]
        assert numbers == sorted(numbers)


async def test_an_org_with_one_run_is_next_however_many_another_has_waiting() -> None:
    floor = Floor(FairSlots(2))
    for _ in range(20):
        await floor.ask(SlotHolder(1, 1))
    await floor.ask(SlotHolder(2, 2))
    assert floor.held() == {1: 2}
    await floor.end(floor.running[0])
    assert floor.held() == {1: 1, 2: 1}


async def test_orgs_and_their_batches_take_turns() -> None:
    floor = Floor(FairSlots(1))
    for place in [SlotHolder(1, 1)] * 4 + [SlotHolder(1, 2)] * 2 + [SlotHolder(2, 3)] * 2 + [SlotHolder(3)]:
        await floor.ask(place)
    while floor.running:
        await floor.end(floor.running[0])
    assert [tuple(place) for place, _ in floor.order] == [
        *((1, 1), (2, 3), (3, None), (1, 1), (2, 3), (1, 2), (1, 1), (1, 2), (1, 1))
    ]


async def test_who_holds_all_slots_leaves_the_guests_slots_to_others() -> None:
    floor = Floor(FairSlots(4, guests=2))
    for _ in range(9):
        await floor.ask(SlotHolder(1, 1))
    assert floor.held() == {1: 4}  # alone it has what there is, and no more
    for _ in range(3):
        await floor.ask(SlotHolder(2, 2))
    assert floor.held() == {1: 4, 2: 2}
    await floor.ask(SlotHolder(3, 3))
    await floor.end(next(job for job in floor.running if job[0].org_id == 1))
    assert floor.held() == {1: 3, 2: 2, 3: 1}


async def test_one_that_is_cancelled_in_the_moment_of_its_turn_gives_the_slot_on() -> None:
    floor = Floor(FairSlots(1))
    for org_id in (1, 2, 3):
        await floor.ask(SlotHolder(org_id))
    first, second, third = floor.tasks
    floor._ends[first].set()
    await asyncio.sleep(0)
    floor.tasks[second].cancel()
    await floor.settle()
    assert floor.running == [third]


async def test_a_slot_that_is_freed_as_those_who_wait_for_it_are_cancelled_goes_to_the_next():
    slots = FairSlots(1)
    got: list[str] = []

    async def wants(name: str, place: SlotHolder) -> None:
        async with slots.slot(place):
            got.append(name)

    async with slots.slot(SlotHolder(1)):
        gone = [asyncio.ensure_future(wants(f"gone {n}", SlotHolder(2, 7))) for n in range(3)]
        stays = asyncio.ensure_future(wants("stays", SlotHolder(2, 7)))
        await asyncio.sleep(0)
        for task in gone:
            task.cancel()
        # The slot is given back before any of them has heard of it.
    results = await asyncio.gather(*gone, stays, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 3 + [type(None)]
    assert got == ["stays"]
    async with asyncio.timeout(1), slots.slot(SlotHolder(3)):
        pass
