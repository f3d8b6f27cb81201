"""Copies of a token that cross the network on their way to experts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from ffplan.collectives.expert_dispatch import Gate, Routing, _expected_hits, _neighbours_reached
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen_time
from ffplan.training.exchange import _copying_time, _gate, _sent, dispatcher_fault, sms_fault
from ffplan.training.group_collectives import Cluster, _group_time
from ffplan.training.memory import stage_bytes
from ffplan.training.microbatch import micro_batch
from ffplan.training.overlap import _exchange_cost
from ffplan.training.train_run import TrainRun, _pace_fraction, placement_of
from tests.support import host_named, library_named, shape_named
from tests.unit.training.test_layer import plans, speeds


def run(model: str, dispatcher: str = "", usual: str = "alltoall") -> TrainRun:
    at = replace(speeds(), dispatcher=usual)
    return TrainRun(shape_named(model), plans(dispatcher=dispatcher), at, cast("Any", None))


def gate(model: str, dispatcher: str = "", usual: str = "alltoall") -> Gate:
    found = _gate(run(model, dispatcher, usual))
    assert found is not None
    return found


def test_alltoall_sends_every_copy() -> None:
    assert _gate(run("deepseek-v3")) is None
    assert _gate(run("deepseek-v3", "alltoall", "deepep")) is None


def test_deepep_sends_a_token_to_a_node_once() -> None:
    """DeepSeek-V3 on 8 nodes: at most 4, one of which C(96, 8) / C(128, 8) = 9.6 % of tokens miss."""
    found = float(gate("deepseek-v3", "deepep").met(8.0))
    missed = np.prod([(96 - at) / (128 - at) for at in range(8)])
    assert found == pytest.approx(4 * (1 - missed))
    assert found == pytest.approx(3.6291, abs=0.0008)


def test_without_groups_every_node_may_be_reached() -> None:
    assert float(gate("llama4-maverick", "hybrid").met(16.0)) == pytest.approx(float(_expected_hits(16, 128, 8, 1)))


def test_within_a_node_a_token_goes_once_to_each_rank() -> None:
    """Eight ranks of a group each are eight nodes of one; on two nodes of four groups a token's four lie on one node
    in 2 of 70 cases; 256 ranks hold an expert each, so that every copy goes by itself.
    """
    there = gate("deepseek-v3", "", "deepep")
    missed = np.prod([(96 - at) / (128 - at) for at in range(8)])
    assert np.asarray(there.met(np.array([8.0, 2.0, 256.0]))) == pytest.approx([4 * (1 - missed), 1.9258, 8], abs=1e-4)


def test_neighbours_lie_on_one_node_or_two() -> None:
    """Eight neighbours among 32 experts of a node: one node; among 12, a boundary lies inside one time in three."""
    assert float(_neighbours_reached(32, 8)) == 1
    assert float(_neighbours_reached(12, 8)) == pytest.approx(4 / 3)
    assert float(_neighbours_reached(4, 8)) == 2


@pytest.mark.parametrize(("held", "drawn", "bins"), [(32, 8, 8), (12, 8, 32), (96, 8, 4), (5, 3, 6), (6, 4, 8)])
def test_neighbours_reached_is_the_mean_over_all_draws(held: int, drawn: int, bins: int) -> None:
    """Counted: draw i takes the experts k i to k i + k - 1, modulo all."""
    pool = held * bins
    hit = [len({(drawn * at + more) % pool // held for more in range(drawn)}) for at in range(pool)]
    assert float(_neighbours_reached(held, drawn)) == pytest.approx(np.mean(hit))


def test_experts_in_turn_save_traffic_where_a_token_goes_to_a_node_once() -> None:
    """DeepSeek-V3 on 8 nodes of 32 experts: one node, where random experts need 3.6."""
    assert float(replace(gate("deepseek-v3", "deepep"), in_turn=True).met(8.0)) == 1


def test_training_takes_the_time_that_collective_prints() -> None:
    """DeepSeek-V3's 4,096 tokens in FP8 to four of eight groups of experts, a group on each of eight nodes, and back in
    BF16."""
    host, deepep = host_named("h800-8nic"), library_named("deepep")
    system = Cluster(host=host, library=library_named("nccl"), reducer=library_named("nccl"), dispatcher=deepep)
    made = plans(gpus=64.0, data=64.0, expert=64.0, dispatcher="deepep", dispatch_bytes=1.03125)
    trained = float(np.asarray(_sent(TrainRun(shape_named("deepseek-v3"), made, speeds(), system))))
    job = RankLayout(host=host, nodes=8, per_node=8)
    routing = Routing(tokens=4096, hidden=7168, top_k=8, experts=256, groups=4)
    alone = 0.0
    for operation in ("dispatch", "combine"):
        query = CollectiveQuery(operation=operation, library=deepep, routing=routing, algorithm="node-limited")
        alone += float(chosen_time(query, job, routing.message_bytes(operation)))
    assert trained == pytest.approx(alone, rel=1e-9)


def test_a_dispatcher_that_forwards_needs_a_switch_in_the_node() -> None:
    nccl = library_named("nccl")
    system = Cluster(host=host_named("fire-flyer-2-node"), library=nccl, reducer=nccl)
    there = replace(run("deepseek-v3", "deepep"), system=system)
    assert "`fire-flyer-2-node` has none" in str(dispatcher_fault(there))
    assert dispatcher_fault(replace(there, plans=plans(dispatcher="alltoall"))) is None
    assert dispatcher_fault(replace(there, shape=shape_named("llama3-8b"))) is None


@pytest.mark.parametrize(("expert", "split", "tensor"), [(8.0, 1.0, 1.0), (16.0, 1.0, 1.0), (8.0, 2.0, 2.0)])
def test_all_gather_brings_every_token_of_the_group(expert: float, split: float, tensor: float) -> None:
    """Llama 4 Maverick, experts in every second layer: e t_e ranks of T / t tokens gather them and scatter sums, both
    ways.
    """
    nccl, shape = library_named("nccl"), shape_named("llama4-maverick")
    system = Cluster(host=host_named("hgx-h100-8nic"), library=nccl, reducer=nccl)
    made = plans(gpus=64.0, data=64.0, expert=expert, expert_tensor=split, tensor=tensor, dispatcher="allgather")
    made = replace(made, data=64.0 / tensor)
    found = TrainRun(shape, made, speeds(), system)
    group = placement_of(found, expert * split, 1.0)
    size = 2 * shape.sequence / tensor * expert * split * shape.hidden
    both = _group_time(system, "all-gather", group, size) + _group_time(system, "reduce-scatter", group, size)
    assert float(np.asarray(micro_batch(found).exposed["experts"])) == pytest.approx(0.5 * 2 * float(np.asarray(both)))


def test_all_gather_pays_where_a_token_has_many_experts() -> None:
    """DeepSeek-V3 within a node of 8: the same bytes as eight copies of each token; one copy would be an eighth."""
    nccl = library_named("nccl")
    system = Cluster(host=host_named("hgx-h100-8nic"), library=nccl, reducer=nccl)
    times = {}
    for model in ("deepseek-v3", "llama4-maverick"):
        for name in ("alltoall", "allgather"):
            made = plans(expert=8.0, dispatcher=name)
            item = micro_batch(TrainRun(shape_named(model), made, speeds(), system)).exposed["experts"]
            times[model, name] = float(np.asarray(item))
    assert times["deepseek-v3", "allgather"] < times["deepseek-v3", "alltoall"]
    assert times["llama4-maverick", "allgather"] > 4 * times["llama4-maverick", "alltoall"]


def test_gathered_tokens_take_memory() -> None:
    """64 ranks of 4,096 tokens of 7,168 numbers at 16 bits, and as many results to scatter: 7 GiB of DeepSeek-V3."""
    shape, made = shape_named("deepseek-v3"), plans(gpus=128.0, data=64.0, pipeline=2.0, batch=128.0, expert=64.0)
    one, all_of = (stage_bytes(shape, replace(made, dispatcher=name), 0.0) for name in ("alltoall", "allgather"))
    assert float(np.asarray(all_of.total - one.total)) == pytest.approx(2 * 2 * 64 * 4096 * 7168)


def on_h100(**fields: Any) -> TrainRun:
    nccl, deepep = library_named("nccl"), library_named("deepep")
    system = Cluster(host=host_named("hgx-h100-8nic"), library=nccl, reducer=nccl, dispatcher=deepep)
    return TrainRun(shape_named("deepseek-v3"), plans(**{"expert": 8.0, **fields}), speeds(), system)


def test_multiprocessors_copy_every_token_twice_on_a_node() -> None:
    """DeepSeek-V3 on a node: 3.6 of four GPUs hold the experts of a token, each copied out and in by 4 x 38.7 GB/s."""
    gpus = float(_expected_hits(4, 128, 32, 8))
    few = on_h100(dispatcher="deepep", dispatch_sms=4.0)
    found = float(np.asarray(_copying_time(few, 1.0)))
    assert found == pytest.approx(2 * gpus / 8 / (4 * 38.7e9))
    turned = replace(few, plans=replace(few.plans, in_turn=True))
    assert float(np.asarray(_copying_time(turned, 1.0))) == pytest.approx(2 / 8 / (4 * 38.7e9))
    for other in (on_h100(dispatcher="hybrid", dispatch_sms=4.0), on_h100(dispatcher="deepep")):
        assert _copying_time(other, 1.0) == 0


def exposed(**fields: Any) -> float:
    return float(np.asarray(micro_batch(on_h100(dispatcher="deepep", **fields)).exposed["experts"]))


def test_an_exchange_waits_for_few_multiprocessors() -> None:
    """One multiprocessor takes twice as long as two, beside the call; 40 leave the exchange to NVLink."""
    call = 4 * library_named("deepep").fixed.value
    call *= float(np.asarray(_pace_fraction(shape_named("deepseek-v3"), on_h100().plans)))
    assert exposed(dispatch_sms=1.0) - call == pytest.approx(2 * (exposed(dispatch_sms=2.0) - call))
    assert exposed(dispatch_sms=2.0) > 2 * exposed()
    assert exposed(dispatch_sms=40.0) == exposed()
    assert exposed(dispatch_sms=1.0, expert=1.0) == exposed(expert=1.0) == 0


def test_multiprocessors_of_a_plan_that_mean_nothing() -> None:
    assert sms_fault(on_h100(dispatcher="deepep", dispatch_sms=24.0)) is None
    assert sms_fault(on_h100(dispatcher="alltoall")) is None
    assert "the dispatcher is alltoall" in str(sms_fault(on_h100(dispatcher="alltoall", dispatch_sms=24.0)))
    assert "none is hidden" in str(sms_fault(on_h100(dispatcher="hybrid", dispatch_sms=24.0)))
    hidden = on_h100(dispatcher="hybrid", dispatch_sms=24.0, overlap=frozenset(("experts",)))
    assert sms_fault(hidden) is None
    assert "has 132 multiprocessors" in str(sms_fault(on_h100(dispatcher="deepep", dispatch_sms=200.0)))
    dense = replace(on_h100(dispatcher="deepep", dispatch_sms=24.0), shape=shape_named("llama3-8b"))
    assert "without experts" in str(sms_fault(dense))


def test_a_hidden_exchange_costs_its_multiprocessors() -> None:
    """Of 40 %, 20 of 132 are 15; with 4 the other 28 % are left, with 24 it costs 43 %."""
    assert _exchange_cost(0.4, 0.0, 132.0) == _exchange_cost(0.4, 20.0, 132.0) == 0.4
    assert _exchange_cost(0.4, 4.0, 132.0) == pytest.approx(0.4 - 16 / 132)
    assert _exchange_cost(0.4, 24.0, 132.0) == pytest.approx(0.4 + 4 / 132)
    assert _exchange_cost(0.1, 1.0, 132.0) == 0
    assert _exchange_cost(0.4, 130.0, 132.0) == 1
    computing = speeds(products=1e14, attention=1e14, units=132.0, overlap=0.4)
    few, many = (
        micro_batch(replace(run, speeds=computing)).exposed["experts"]
        for run in (
            on_h100(dispatcher="hybrid", overlap=frozenset(("experts",)), dispatch_sms=sms) for sms in (8.0, 24.0)
        )
    )
    whole = float(np.asarray(micro_batch(replace(on_h100(dispatcher="hybrid"), speeds=computing)).exposed["experts"]))
    hidden = 1 - 1 / 4  # one exchange of four is exposed
    assert float(np.asarray(many)) - float(np.asarray(few)) == pytest.approx(hidden * whole * 16 / 132)
