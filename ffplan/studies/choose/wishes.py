"""What a cluster is wanted for, and ideas of how its fabric is built."""

from __future__ import annotations

from ffplan.base.record import record


@record
class Wishes:
    """What a cluster is wanted for."""

    accelerator: str
    gpus: int | None
    """Accelerators; as many as budget and power allow if omitted."""
    budget: float | None
    """Most that the purchase may come to [currency of the book]."""
    watts: float | None
    """Most power, as `power_of` means it [W]."""
    model: str | None
    book: str
    pue: float
    power_of: str = "facility-peak"
    """What `watts` bounds, a name of `POWERS`."""
    note: str = ""
    """Comment for the files: which wishes they do not meet."""
    excluded: tuple[str, ...] = ()
    """Servers, switches and links that are not bought."""
    switches: tuple[str, ...] = ()
    """Switches to choose from; all with a price if empty."""
    rack_area: float | None = None
    """Floor of a rack with its share of aisles; the ownership profile's if None [m2]."""
    tokens: float | None = None
    """Tokens that the model is trained on [1]."""
    days: float | None = None
    """Longest run over them [day]."""


@record
class Idea:
    """A way to build the fabric."""

    name: str
    words: str
    family: str
    oversubscription: str
    other: bool = False
    """Another protocol than the first idea's: InfiniBand where that is Ethernet, or the other way round."""
    nics: int | None = None
    """NICs of a node on the fabric; all that the server has if None [1]."""


IDEAS = (
    Idea(
        name="full",
        words="every accelerator can use its whole NIC at once: the DGX-style reference",
        family="rail-optimised",
        oversubscription="1:1",
    ),
    Idea(
        name="lean",
        words="two downlinks for each uplink: fewer switches, for jobs that stay near or are dense",
        family="rail-optimised",
        oversubscription="2:1",
    ),
    Idea(
        name="rails",
        words="each rail is a network of its own: traffic between rails passes the scale-up network first",
        family="rail-only",
        oversubscription="1:1",
    ),
    Idea(
        name="other",
        words="as the first, with the other protocol: InfiniBand against Ethernet",
        family="rail-optimised",
        oversubscription="1:1",
        other=True,
    ),
    Idea(
        name="thin",
        words="three downlinks for each uplink: for jobs that stay within a leaf, or exchange little",
        family="rail-optimised",
        oversubscription="3:1",
    ),
)
MOST_DESIGNS = 3
"""Designs that are kept, in the order of the ideas [1]."""


POWERS = {
    "facility-peak": "at its peak",
    "facility-training": "at the meter in training",
    "it-peak": "of IT at its peak",
    "it-training": "of IT in training",
}
"""What a wished power may bound, the strictest first, in words."""
