"""Closed-form counts of fat trees, for floats or arrays.

Symbols: k ports per switch (radix), d downlinks and u uplinks of a leaf switch (d + u <= k), E endpoint
ports of one tree. All arguments and results are whole numbers [1] of any broadcastable shape.

Sources:
    [1] An et al., "Fire-Flyer AI-HPC", arXiv 2408.14158 (SC'24), section III-B and Table III.
    [2] NVIDIA, "DGX SuperPOD reference architecture H100", RA-11333, Network Fabrics, Table 4.
    [3] NVIDIA, "DGX SuperPOD reference architecture B200", RA-11334, Network Fabrics.
    [4] Al-Fares et al., "A scalable, commodity data center network architecture", SIGCOMM 2008.
"""

from __future__ import annotations

from ffplan.base.array_math import Number, ceil_div, maximum, minimum, round_up, smallest_divisor_at_least


def leaf_uplinks(radix: Number, oversubscription: Number) -> Number:
    """Return the uplinks u of a leaf switch.

    Args:
        radix: ports k of the switch [1].
        oversubscription: most downlinks per uplink r [1].

    Returns:
        Uplinks [1]; the other k - u ports are downlinks, so that (k - u) / u <= r.

    Equation:
        u = ceil(k / (1 + r)), at least 1 and at most k - 1

    Source:
        Definition of oversubscription; r = 1 gives k / 2.
    """
    # rounded up: the ratio is a ceiling
    return minimum(maximum(round_up(radix / (1 + oversubscription)), 1), radix - 1)


def _uplinks_of(downlinks: Number, down_split: Number, up_split: Number, oversubscription: Number) -> Number:
    """Return the uplinks of a leaf with a given number of downlinks, for ports split differently each way.

    Args:
        downlinks: downlinks d of a leaf [1].
        down_split: parts b of a port for downlinks [1].
        up_split: parts c of a port for uplinks [1].
        oversubscription: most bandwidth down over bandwidth up r [1].

    Returns:
        Uplinks [1]; d / b ports carry what goes down, u / c what goes up.

    Equation:
        u = max(1, ceil(d c / (b r)))

    Source:
        Definition of oversubscription as a ratio of bandwidths. HPN 7.0 has 128 x 200G down and 60 x 400G up, 16:15.
    """
    # the ratio is of bandwidths: d / b ports go down, u / c ports go up
    return maximum(round_up(downlinks * up_split / (down_split * oversubscription)), 1)


def leaf_switches(endpoints: Number, downlinks: Number) -> Number:
    """Return the leaf switches of one tree.

    Args:
        endpoints: endpoint ports E [1], links to other zones included.
        downlinks: downlinks d of a leaf switch [1].

    Equation:
        leaf = ceil(E / d)

    Source:
        [1] section III-B (800 endpoints, 40 leaf switches); [2] Table 4.
    """
    return ceil_div(endpoints, downlinks)


def rail_leaves(nodes: Number, unit_nodes: Number, rails: Number, ports: Number, downlinks: Number) -> Number:
    """Return the leaf switches of one tree that gives rail r of a scalable unit leaf r alone.

    Args:
        nodes: compute nodes [1].
        unit_nodes: nodes of a scalable unit [1], at most d.
        rails: NICs of a node in this tree [1].
        ports: all endpoint ports [1], including other nodes and links to other zones.
        downlinks: downlinks d of a leaf switch [1].

    Equation:
        leaf = max(rails * ceil(nodes / unit_nodes), ceil(ports / d))

    Source:
        [2] Network Fabrics: leaf r of a scalable unit takes HCA r of all its nodes; whole units are built. Other nodes
        take the ports that are left, and separate leaves beyond those.
    """
    return maximum(rails * ceil_div(nodes, unit_nodes), ceil_div(ports, downlinks))


def two_tier_spines(leaves: Number, uplinks: Number, radix: Number) -> Number:
    """Return the spine switches of a two-tier tree.

    Every leaf spreads its uplinks evenly over the spines, so their number divides u.

    Args:
        leaves: leaf switches [1], at most k.
        uplinks: uplinks u of a leaf [1].
        radix: ports k of a spine [1].

    Equation:
        spine = min { s : s divides u, s >= ceil(leaf * u / k) }

    Source:
        Derived; reproduces [2] Table 4, where 3 scalable units have 24 leaf and 16, not 12, spine switches, and [1]
        section III-B.

    Raises:
        ValueError: if leaf > k, which no spine can reach.
    """
    return smallest_divisor_at_least(uplinks, ceil_div(leaves * uplinks, radix))


def _spine_uplinks(radix: Number, uplinks: Number, oversubscription: Number) -> Number:
    """Return the uplinks U of a full spine switch in a three-tier tree.

    Args:
        radix: ports k of the switch [1].
        uplinks: ports set aside for uplinks, `leaf_uplinks(k, r)` of the spine's own oversubscription [1].
        oversubscription: most downlinks per uplink r of a spine [1].

    Returns:
        Uplinks in use [1]: no more than its k - uplinks downlinks need.

    Equation:
        U = min(uplinks, ceil((k - uplinks) / r))

    Source:
        Definition of oversubscription; r = 1 gives floor(k / 2), so that an odd port stays free.
    """
    # the ports set aside are rounded up, so that the downlinks left may need fewer
    return minimum(uplinks, maximum(round_up((radix - uplinks) / oversubscription), 1))


def pod_spines(leaves: Number, uplinks: Number, spine_up: Number, radix: Number) -> Number:
    """Return the spine switches of one pod of a three-tier tree.

    Uplink g of every leaf of the pod forms group g, with `spine_up` links to the cores. A spine takes whole groups, so
    that every leaf has as many links to each spine: their number divides u.

    Args:
        leaves: leaf switches of the pod [1].
        uplinks: uplinks u of a leaf [1].
        spine_up: links to cores of each group [1].
        radix: ports k of a spine [1].

    Equation:
        spine = min { s : s divides u, (u / s) (leaf + spine_up) <= k }

    Source:
        Derived: the even-striping rule of [2] within a pod. A full pod has u spines; 500 leaf and 500 spine in [1].

    Raises:
        ValueError: if leaf + spine_up > k, which no spine can hold.
    """
    return smallest_divisor_at_least(uplinks, ceil_div(uplinks * (leaves + spine_up), radix))


def core_minimal(spine_uplinks: Number, radix: Number) -> Number:
    """Return the fewest core switches with enough ports.

    Args:
        spine_uplinks: links from spines to cores [1].
        radix: ports k of a core switch [1].

    Equation:
        core = ceil(links / k)

    Source:
        Port counting; 250 for the 10,000 endpoints of [1], where the paper has 320.
    """
    return ceil_div(spine_uplinks, radix)


def core_per_rail_whole_pods(
    endpoints: Number,
    rails: Number,
    *,
    downlinks: Number,
    uplinks: Number,
    pod_leaves: Number,
    spine_up: Number,
    radix: Number,
) -> Number:
    """Return the core switches when each rail is built from whole pods.

    A rail smaller than a full pod is one pod of that size.

    Args:
        endpoints: endpoints E of the tree [1].
        rails: NICs of a compute node in this tree [1]; rail r joins the r-th NIC of every node.
        downlinks: downlinks d of a leaf switch [1].
        uplinks: uplinks u of a leaf switch [1].
        pod_leaves: leaf switches D of a full pod [1], k/2 without oversubscription.
        spine_up: uplinks U of a spine of a full pod [1], k/2 without oversubscription.
        radix: ports k of a switch [1].

    Equation:
        rail = ceil(E / rails / d) leaf switches; pod = min(D, rail);
        core = ceil(rails * ceil(rail / pod) * pod * u * (U / D) / k)

    Source:
        Derived; reproduces 40 and 320 of [1] section III-C, and 64, 128, 256 of [3] for 16, 32, 64 scalable units.
    """
    rail_leaves = ceil_div(endpoints, rails * downlinks)
    # a rail smaller than a pod is a pod of that size: nothing is left over for another rail
    pod = minimum(pod_leaves, rail_leaves)
    return ceil_div(rails * ceil_div(rail_leaves, pod) * pod * uplinks * spine_up, radix * pod_leaves)


def core_equal_stripe(spines: Number, pod_spines: Number, spine_up: Number, radix: Number) -> Number:
    """Return the core switches when every spine spreads its uplinks evenly over its core group.

    Spine i of each pod belongs to group i; a group of c cores takes U/c links from each of its spines.

    Args:
        spines: spine switches [1].
        pod_spines: spine switches of one full pod [1], which is the number of core groups of a tree with as many.
        spine_up: uplinks U of a spine [1], k/2 without oversubscription.
        radix: ports k of a core switch [1].

    Equation:
        groups = min(spine, pod_spines); pods = ceil(spine / groups);
        core = groups * min { c : c divides U, c >= ceil(pods * U / k) }

    Source:
        Derived from even striping; the canonical full tree of [4] has (k/2)^2 cores. 400 for the endpoints of [1].
    """
    groups = minimum(spines, pod_spines)
    pods = ceil_div(spines, groups)
    return groups * smallest_divisor_at_least(spine_up, ceil_div(pods * spine_up, radix))


def _tree_capacity(tiers: int, radix: Number, downlinks: Number, pod_leaves: Number) -> Number:
    """Return the capacity of one tree in endpoint ports.

    Args:
        tiers: 1, 2 or 3.
        radix: ports k of a switch [1].
        downlinks: downlinks d of a leaf switch [1]; not used with one tier.
        pod_leaves: leaf switches D of a full pod [1]; used with three tiers only.

    Equation:
        k with one tier, k * d with two, k * D * d with three; d = D = k/2 gives k, k^2/2, k^3/4

    Source:
        [4]; 800 for k = 40 in [1] section III-B, 8,192 for k = 128 in its section IX.

    Raises:
        ValueError: for any other number of tiers.
    """
    if tiers == 1:
        return radix
    if tiers == 2:
        return radix * downlinks
    if tiers == 3:
        return radix * pod_leaves * downlinks
    raise ValueError(f"a fat tree of {tiers} tiers is not modelled")


def _leaf_cut(leaves: Number, endpoints: Number, endpoint_rate: Number, uplinks: Number, link_rate: Number) -> Number:
    """Return the bandwidth out of equally filled leaves.

    Args:
        leaves: leaf switches [1].
        endpoints: endpoint ports in use on each [1].
        endpoint_rate: rate of an endpoint port [GB/s].
        uplinks: uplinks u of a leaf [1].
        link_rate: rate of an uplink [GB/s].

    Returns:
        Bandwidth in one direction [GB/s].

    Equation:
        leaves * min(endpoints * rate, u * link)

    Source:
        Derived: a leaf passes on the smaller of its endpoints' and its uplinks' rates.
    """
    return leaves * minimum(endpoints * endpoint_rate, uplinks * link_rate)


def tree_bisection(endpoint_bandwidth: Number, tier_links: Number, link_rate: Number) -> Number:
    """Return the bandwidth across the worst even split of one tree.

    Args:
        endpoint_bandwidth: sum of the rates of its endpoint ports [GB/s].
        tier_links: links of the narrowest tier between switches [1].
        link_rate: rate of one such link [GB/s].

    Returns:
        Bandwidth in one direction [GB/s].

    Equation:
        B = min(endpoints, links * rate) / 2

    Source:
        [4]: a full fat tree carries E/2 flows across any even split.
    """
    return minimum(endpoint_bandwidth, tier_links * link_rate) / 2


def _zone_bisection(
    zones: Number, links_per_zone: Number, link_rate: Number, endpoint_bandwidth: Number, zone_cut: Number
) -> Number:
    """Return the bandwidth across the worst even split of several zones joined by a few links.

    With an even number of zones the split follows zone boundaries. With an odd number, one zone is split too.

    Args:
        zones: zones Z [1].
        links_per_zone: links l from each zone to the inter-zone switches [1]; 0 for separate zones.
        link_rate: rate of one such link [GB/s].
        endpoint_bandwidth: total rate of one zone's endpoint ports [GB/s].
        zone_cut: bandwidth across an even split of one zone [GB/s].

    Returns:
        Bandwidth in one direction [GB/s].

    Equation:
        B = min(Z * endpoints / 2, floor(Z/2) * l * rate + (Z mod 2) * zone_cut); zone_cut for Z = 1

    Source:
        Derived: all traffic between zones passes the l links of each zone, each on a separate port.
    """
    single = zones < 2
    # the smaller half of the zones sends through its own links alone
    across = (zones // 2) * links_per_zone * link_rate
    several = minimum(zones * endpoint_bandwidth / 2, across + (zones % 2) * zone_cut)
    # no `if`: zones may be an array
    return several * (1 - single) + zone_cut * single


def bandwidth_oversubscription(downlinks: Number, uplinks: Number, endpoint_rate: Number, link_rate: Number) -> Number:
    """Return the oversubscription of a full leaf switch.

    Args:
        downlinks: downlinks d of a leaf [1].
        uplinks: uplinks u of a leaf [1].
        endpoint_rate: rate of a downlink [GB/s].
        link_rate: rate of an uplink [GB/s].

    Returns:
        Bandwidth down over bandwidth up [1].

    Equation:
        d * endpoint_rate / (u * link_rate)

    Source:
        [4]; equal to d / u where all links have one rate.
    """
    return downlinks * endpoint_rate / (uplinks * link_rate)
