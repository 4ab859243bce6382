"""What an attack did to others, and what of it is against the rule."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from heartbeat import Beats
from hostile.kinds import Kind

DOUBTFUL_S = 1.0
Row = dict[str, Any]


@dataclass(kw_only=True)
class Outcome:
    """What an attack did to others."""

    kind: Kind
    beats: Beats
    growth_mb: float  # at its highest
    left_mb: float  # what had not been given back when it was over
    sent: list[Row]
    others: Row = field(default_factory=dict)  # another org's runs by status
    troubles: list[str] = field(default_factory=list)

    def problems(self) -> list[str]:
        found = list(self.troubles)
        if late := self.beats.late():
            worst = max(late, key=lambda each: each.took)
            found.append(
                f"{len(late)} late; {worst.name} took {worst.took:.2f} s during {self.during(worst)}"
            )
        if failed := self.beats.failed():
            reasons = Counter(f"{each.name} {each.status} {each.why}".strip() for each in failed)
            found.append(f"{len(failed)} not answered: {dict(reasons)} during {self.during(failed[0])}")
        if self.growth_mb > self.kind.growth_mb:
            found.append(f"memory grew by {self.growth_mb:.0f} MB; {self.kind.growth_mb} are allowed")
        if set(self.others) - {"completed"}:
            found.append(f"runs of another org: {self.others}")
        if broken := [each for each in self.sent if each.get("status") == 500]:
            found.append(f"{len(broken)} answers 500, the first to {broken[0]['what']}: {broken[0]['note']}")
        return found

    @property
    def is_doubtful(self) -> bool:
        """Nothing but somewhat late: perhaps the machine. What is true of an input is true a second time."""
        late = self.beats.late()
        return bool(late) and len(self.problems()) == 1 and max(each.took for each in late) < DOUBTFUL_S

    def slowest(self, most: int = 5) -> str:
        """What the attacker waited longest for, and what it was told."""
        listed = sorted(self.sent, key=lambda each: -each.get("took", 0))[:most]
        return "\n".join(f"  {each.get('took', 0):.2f} s {each}"[:400] for each in listed)

    def during(self, sample: Any) -> str:
        """What the attacker was about while somebody waited."""
        near = [
            each
            for each in self.sent
            if "at" in each and sample.overlaps(each["at"], each["at"] + each["took"])
        ]
        named = Counter(f"{each['what']} → {each['status']}" for each in near)
        return ", ".join(name for name, _ in named.most_common(4)) or "nothing that was told"

    def line(self) -> str:
        beats = self.beats
        worst = " ".join(f"{name} {beats.worst(name) * 1000:.0f}" for name in ("health", "api", "tool"))
        return (
            f"{self.kind.name:<22} worst ms: {worst} | p99 {beats.p99() * 1000:.0f}"
            f" | reference {beats.worst_reference() * 1000:.0f}"
            f", starved {sum(each.seconds for each in beats.starved):.1f} s"
            f", disk {max((each.seconds for each in beats.stood_still), default=0) * 1000:.0f}"
            f" | late {len(beats.late())} failed {len(beats.failed())} of {len(beats.asked)}"
            f" | +{self.growth_mb:.0f} MB, {self.left_mb:+.0f} kept | {len(self.sent)} sent"
            f" {dict(Counter(each.get('status', 'refused') for each in self.sent))} | others {self.others}"
        )
