"""Check a fabric with OpenSM: it routes the subnets that ibsim plays, and its tables are compared with our routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import UsageError
from ffplan.base.formatting import listed, percent, plural
from ffplan.fabric.routing.job_loads import JobNodes, flows_of, pick_job
from ffplan.fabric.routing.link_loads import flow_loads, outcome
from ffplan.fabric.routing.routing import Tracer
from ffplan.fabric.routing.tree_routing import TreeRouting, all_to_all_loads
from ffplan.fabric.sizing.striping import striping_notes
from ffplan.fabric.wiring.network import CORE, ROLES
from ffplan.interop import opensm
from ffplan.interop.exported import subnet
from ffplan.interop.programs import _TimeLimitError
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import Check, VerifyReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ffplan.base.array_math import Ints
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.routing.traffic import Flows
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.wiring import WiredFabric


def _root_notes(fabric: WiredFabric, reasons: Iterable[str]) -> Iterator[str]:
    """Say which option OpenSM needs for a tree that its ftree engine refused, and for which reason."""
    network = fabric.network
    for reason in reasons:
        top = ROLES[int(network.switches.role[network.switches.role <= CORE].max())]
        yield (
            f"OpenSM's ftree engine does not recognise this tree ({reason}) unless its option `root_guid_file` names "
            f"the {top} switches; these checks set it."
        )
    if bare := len(network.bare_leaves()):
        yield f"{plural(bare, 'leaf has', 'leaves have')} no host; ftree counts tiers from the hosts."


def _chain_notes(checks: Iterable[Check]) -> Iterator[str]:
    """Say how a tree of one switch in each tier is routed: OpenSM's ftree engine refuses it even with roots."""
    chained = [check for check in checks if check.check == "fat tree" and check.passed is None]
    if any(check.found != check.expected for check in chained):
        yield (
            "OpenSM's ftree engine rejects a tree with one switch per tier and falls back to minhop: packets pass "
            "the same switches."
        )


def _rate_notes(checks: Iterable[Check]) -> Iterator[str]:
    """Say which rates hold if OpenSM's tables load links differently from the rule of `route`."""
    differing = [f"{check.subject} {check.found} in place of {check.expected}" for check in checks if check.verdict]
    if differing:
        yield (
            f"Switches forward by OpenSM's tables, so a cluster gets their rates: {listed(differing)}. `ffplan fabric "
            "route` and `faults --routing static` report the rates of ffplan's own rule."
        )


_UPDN = (
    " An updn route never turns up again after going down: with spines as roots, routes between zones would have to; "
    "with inter-zone switches as roots, routes within a zone would. dfsssp routes all zones together, ftree each zone "
    "alone."
)
"""Why updn refuses zones that are joined at their leaves, and which engines route them."""


def _engine_notes(fabric: WiredFabric, checks: Iterable[Check]) -> Iterator[str]:
    """Say which engine routed the fabric in place of the requested one, and why."""
    refused = {check.expected: check.found for check in checks if check.check == "routed by" and check.passed is False}
    for engine, fallback in refused.items():
        why = _UPDN if engine == "updn" and fabric.interzone else ""
        yield f"OpenSM's {engine} engine rejects this fabric and falls back to {fallback}.{why}"


_SLOW_ENGINES = ("minhop", "dfsssp", "nue")
"""Engines of OpenSM that take three to seven times as long as ftree and updn on 11,320 devices; measured."""


def _faster(fabric: WiredFabric) -> str:
    """Name a faster engine to take after a timeout; updn does not route joined zones."""
    which = "`--engine ftree`, zone by zone," if fabric.interzone else "`--engine ftree` or `updn`,"
    return f", or take {which} which need{'s' if fabric.interzone else ''} a fraction of it on large trees"


def _late_notes(fabric: WiredFabric, late: Iterable[str], limit_s: float) -> Iterator[str]:
    """Say what to do about subnets that got no routes within the time limit [s]."""
    if names := listed(late):
        yield f"{names}: no routes within {limit_s:g} s; allow more with `--limit`{_faster(fabric)}."


_MOST_PORTS = 254
"""Most ports of an InfiniBand switch: their numbers have eight bits, 0 and 255 set aside."""
_MOST_LIDS = 0xBFFF
"""Most addresses (LIDs) of a subnet, 1 to 0xBFFF: one for every switch and every port of a host; InfiniBand, vol. 1."""
_MOST_SWITCHES = 15
"""Most switches on a way under engines that know no tiers."""
_RATE = "rate of the ideal"
"""Check that compares the busiest link under OpenSM's tables with the busiest under our rule."""
_SAMPLE = 20_000
"""Pairs of endpoints traced through the forwarding tables of each subnet."""


def _check(subject: str, what: str, expected: object, result: object) -> Check:
    return Check(subject=subject, check=what, expected=str(expected), found=str(result), passed=expected == result)


def _inside(job: JobNodes, member: NDArray[np.bool_]) -> JobNodes | None:
    """Return the part of a job whose ports of some columns lie in a subnet."""
    columns = [number for number in range(job.ports.shape[1]) if member[job.ports[:, number]].any()]
    if not columns:
        return None
    ports = job.ports[:, columns]
    ports = ports[member[ports].all(axis=1)]
    return JobNodes(ports, np.zeros(len(ports), np.int16)) if len(ports) > 1 else None


def _compare(
    fabric: WiredFabric,
    router: TreeRouting,
    tracer: Tracer,
    title: str,
    *,
    flows: Flows | None,
    members: Ints,
    hops: int,
) -> Check:
    """Compare the busiest link under OpenSM's tables with ours; flows None means all-to-all."""
    if flows is None:
        inside = np.zeros(len(fabric.network.endpoints), bool)
        inside[members] = True
        ours = all_to_all_loads(router, inside, 1.0)
        theirs, lost = tracer.all_to_all_loads(members, 1.0, hops)
    else:
        ours, _ = flow_loads(router, flows.src, flows.dst, flows.nbytes)
        theirs, lost = tracer.flow_loads(flows, hops)
    our_outcome, their_outcome = outcome(fabric.network, ours), outcome(fabric.network, theirs)
    if lost:
        return Check(subject=title, check="flows that arrive", expected="all", found=f"{lost:,} do not", passed=False)
    return _judged(title, our_outcome.share, their_outcome.share)


def _judged(title: str, ours: float, theirs: float) -> Check:
    """Judge two rates: a cluster runs at the rate under OpenSM's tables, since its switches follow them."""
    rule, tables = percent(ours), percent(theirs)
    verdict = None if rule == tables else f"OpenSM's, {'above' if theirs > ours else 'below'} our rule"
    passed = True if verdict is None else None
    return Check(subject=title, check=_RATE, expected=rule, found=tables, passed=passed, verdict=verdict)


def _title(fabric: WiredFabric, part: tuple[int, int | None], engine: str) -> str:
    """Name a subnet in reports: plane, zone, and the engine if it is not ftree."""
    plane, zone = part
    where = [f"plane {plane + 1}"] if fabric.planes > 1 else []
    where += [f"zone {zone + 1}" if zone is not None else "zones joined"] if fabric.zones > 1 else []
    title = ", ".join(where) or "fabric"
    return title if engine == "ftree" else f"{title}, {engine}"


def _subnet(
    design: ResolvedDesign, fabric: WiredFabric, names: Names, part: tuple[int, int | None], run: tuple[str, float]
) -> tuple[str, list[Check], str]:
    """Bring up one subnet; `part` is its plane and zone, all zones where None, `run` the engine and the time limit.

    Where ftree refuses the tree as it is, it gets the roots by name. Returns version, checks, and why it needed them.
    """
    network, (plane, zone), (engine, _) = fabric.network, part, run
    title = _title(fabric, part, engine)
    inside = subnet(network, plane, zone)
    if (devices := int(inside.sum())) > _MOST_LIDS:
        problem = (
            f"{title} has {devices:,} switches and ports of hosts; a subnet of InfiniBand has {_MOST_LIDS:,} addresses"
        )
        raise UsageError(f"ffplan fabric verify: {problem}: split it into planes or zones, or join subnets by routers")
    first = len(network.switches)
    ranks = opensm._expected_ranks(network, inside)
    seen, refused = opensm._bring_up(network, names, inside, run), ""
    if (
        engine == "ftree"
        and len(ranks) > 1
        and max(ranks) > 1
        and (seen.engine, seen.switches_by_rank) != (engine, ranks)
    ):
        refused = seen.reason or f"it finds tiers of {' + '.join(map(str, seen.switches_by_rank)) or 'nothing'}"
        rooted = opensm._bring_up(network, names, inside, run, rooted=True)
        seen, refused = (rooted, refused) if rooted.engine == engine else (seen, "")
    checks = [
        _check(title, "subnet comes up", "yes", "yes" if seen.up else "no"),
        _check(title, "hosts", f"{int(inside[first:].sum()):,}", f"{seen.hosts:,}"),
        _check(title, "switches", f"{int(inside[:first].sum()):,}", f"{seen.switches:,}"),
    ]
    if engine != "ftree":
        checks.append(_check(title, "routed by", engine, seen.engine))
    elif len(ranks) > 1:
        checks += _fat_tree(title, seen, ranks)
    if seen.tables is None:
        checks.append(Check(subject=title, check="forwarding tables", expected="read back", found="none", passed=False))
        return seen.version, checks, refused
    hops = 2 * len(ranks) - 1 if engine == "ftree" else _MOST_SWITCHES
    return seen.version, checks + _tables(design, fabric, title, seen, hops), refused


def _fat_tree(title: str, seen: opensm.Subnet, ranks: tuple[int, ...]) -> list[Check]:
    why = f": {seen.reason}" if seen.reason and seen.engine != "ftree" else ""
    routed = f"{seen.rank} tiers, by {seen.engine}{why}"
    routing = f"{len(ranks)} tiers, by ftree"
    found_ranks, ours = " + ".join(map(str, seen.switches_by_rank)), " + ".join(map(str, ranks))
    chain = max(ranks) == 1  # one switch above the other: OpenSM cannot tell a leaf from a spine there
    rows = (("fat tree", routing, routed), ("switches by tier", ours, found_ranks))
    return [
        Check(subject=title, check=what, expected=expected, found=actual, passed=None if chain else expected == actual)
        for what, expected, actual in rows
    ]


def _tables(design: ResolvedDesign, fabric: WiredFabric, title: str, seen: opensm.Subnet, hops: int) -> list[Check]:
    """Trace pairs through the forwarding tables, and compare loads under them with ours."""
    tables, network = seen.tables, fabric.network
    assert tables is not None
    tracer, router = Tracer(network, tables), TreeRouting(fabric)
    members = tables.endpoints
    pairs = np.random.default_rng(0).choice(members, (_SAMPLE, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    _, passed = tracer.walk(network.endpoints.leaf[pairs[:, 0]], pairs[:, 1], np.ones(len(pairs)), hops)
    missing = int((passed < 0).sum())
    checks = [
        _check(
            title, "pairs traced", f"{len(pairs):,} in {hops} switches", f"{len(pairs) - missing:,} in {hops} switches"
        ),
        _compare(fabric, router, tracer, f"{title}: all-to-all", flows=None, members=members, hops=hops),
    ]
    member = np.zeros(len(network.endpoints), bool)
    member[members] = True
    job = _inside(pick_job(design, fabric, None, "aligned", 0, least=1), member)
    for kind in ("ring", "tree") if job else ():
        assert job is not None
        flows = flows_of(design, fabric, job, kind, 1e6, 0)
        checks.append(_compare(fabric, router, tracer, f"{title}: {kind}", flows=flows, members=members, hops=hops))
    return checks


def verify_opensm(
    design: ResolvedDesign,
    fabric: WiredFabric,
    names: Names,
    run: tuple[tuple[str, ...], float],
    step: Callable[[int, int, str], None],
) -> VerifyReport:
    """Bring up the fabric with OpenSM: by ftree every zone of every plane, by other engines every plane.

    The ftree engine knows one tree; others route the links between zones as well. Of several engines one that takes
    too long fails its check, and the others are compared.

    Args:
        run: routing engines, and the time limit of each program [s].
        step: callback for progress, called with (done, total, what).

    Raises:
        UsageError: where a program is missing, fails or takes too long.
    """
    if fabric.network.radix > _MOST_PORTS:
        raise UsageError(
            f"ffplan fabric verify: a switch of {fabric.network.radix} ports cannot be an InfiniBand switch, "
            f"which has at most {_MOST_PORTS}"
        )
    engines, limit_s = run
    checks: list[Check] = []
    late: list[str] = []
    reasons: dict[str, None] = {}
    version, parts = "", [(engine, part) for engine in engines for part in _parts(fabric, engine)]
    for number, (engine, part) in enumerate(parts):
        step(number, len(parts), "subnets")
        try:
            version, subnet_checks, refused = _subnet(design, fabric, names, part, (engine, limit_s))
        except _TimeLimitError as error:
            if len(engines) == 1:
                raise UsageError(f"{error}{_faster(fabric) if engine in _SLOW_ENGINES else ''}") from None
            late.append(_title(fabric, part, engine))
            result, refused = f"not within {limit_s:g} s", ""
            subnet_checks = [
                Check(subject=late[-1], check="subnet comes up", expected="yes", found=result, passed=False)
            ]
        checks += subnet_checks
        reasons |= {refused: None} if refused else {}
    if fabric.interzone and engines == ("ftree",):
        links = f"{fabric.network.links_by_tier()['interzone']:,}"
        result = "outside these subnets; --engine dfsssp routes all zones together"
        checks.append(Check(subject="between zones", check="links", expected=links, found=result, passed=None))
    passed = all(check.passed is not False for check in checks)
    return VerifyReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        program="opensm",
        version=version,
        passed=passed,
        checks=tuple(checks),
        notes=(
            *striping_notes(design),
            *_root_notes(fabric, reasons),
            *_chain_notes(checks),
            *_rate_notes(checks),
            *_engine_notes(fabric, checks),
            *_late_notes(fabric, late, limit_s),
        ),
    )


def _parts(fabric: WiredFabric, engine: str) -> list[tuple[int, int | None]]:
    """Return plane and zone of every subnet; None joins the zones of a plane."""
    joined = engine != "ftree" and fabric.interzone > 0
    zones: list[int | None] = [None] if joined else list(range(fabric.zones))
    return [(plane, zone) for plane in range(fabric.planes) for zone in zones]
