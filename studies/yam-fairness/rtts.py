"""How often the round trip that an ACK measures is longer than the one before, as long, or shorter.

    python studies/yam-fairness/rtts.py

Yam's window follows this sign, ACK by ACK. A round trip begins when the segment comes to the sender's own link and
ends when its ACK comes back; the engine's clock has nanoseconds.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from skyhop import api
from skyhop.results import Run

HERE = Path(__file__).parent
CHANGES = 'flows[*].tcp.control={ yam = { update = "every-change" } }'
OTHER = 'flows.other.tcp={{ name = "{}", mss = "1000 B", window = 24 }}'
#: The phases of Table 1 in a minute; the mechanism needs no more.
MINUTE = [
    "duration=60 s",
    "flows.second.start=15 s",
    "flows.second.stop=45 s",
    "flows.third.start=30 s",
    "records.grid=1 s",
]
CASES = {
    "one flow": ("scenario.toml", ["flows.flow.count=1", "flows.flow.tcp.window=20", "duration=20 s"], "flow-0", 2.0),
    "beside Reno": ("two.toml", [OTHER.format("reno"), "duration=20 s"], "yam", 2.0),
    "beside Vegas": ("two.toml", [OTHER.format("vegas"), "duration=20 s"], "yam", 2.0),
    "400 Mbit/s, first": ("fast-network.toml", MINUTE, "first", 30.0),
    "400 Mbit/s, second": ("fast-network.toml", MINUTE, "second", 30.0),
    "400 Mbit/s, third": ("fast-network.toml", MINUTE, "third", 31.0),
}


def shares(done: Run, flow: str, from_s: float) -> tuple[float, float, float, int]:
    """Shares of the flow's ACKs whose round trip is longer than the one before, as long, and shorter; their number."""
    events = done.table("packets").filter((pl.col("flow") == flow) & (pl.col("time_s") > from_s))
    sent = events.filter(pl.col("event") == "enq").group_by("seq").agg(pl.col("time_s").last().alias("sent_s"))
    acks = events.filter(pl.col("event") == "ack").join(sent, on="seq").sort("time_s")
    step = acks.select(
        ((pl.col("time_s") - pl.col("sent_s")) * 1e9).round().cast(pl.Int64).diff().drop_nulls().alias("step")
    )
    total = step.height
    return (
        step.filter(pl.col("step") > 0).height / total,
        step.filter(pl.col("step") == 0).height / total,
        step.filter(pl.col("step") < 0).height / total,
        total,
    )


def main() -> None:
    print("| flow | reading | longer | as long | shorter | ACKs |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for name, (scenario, overrides, flow, from_s) in CASES.items():
        for reading, change in (("yam", []), ("yam by changes", [CHANGES])):
            done = api.run(HERE / scenario, overrides=[f'records.packets=["{flow}.source->left"]', *change, *overrides])
            longer, same, shorter, total = shares(done, flow, from_s)
            print(f"| {name} | {reading} | {longer:.1%} | {same:.1%} | {shorter:.1%} | {total} |")


if __name__ == "__main__":
    main()
