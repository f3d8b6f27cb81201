"""Small files of other programs, nearly right: fabrics as built, logs, jobs, maps of names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.fuzz.files import noise

if TYPE_CHECKING:
    from random import Random

FABRICS = (
    "{ CA Ports:01 SystemGUID:1 NodeGUID:a {n1 HCA-1} PN:01 } { SW Ports:24 NodeGUID:b {leaf-1} PN:05 } "
    "PHY=4x LOG=ACT SPD=100\n{ SW Ports:24 NodeGUID:b {leaf-1} PN:06 } { SW Ports:24 NodeGUID:c {sp} PN:01 } "
    "PHY=4x SPD=50\n",
    "START_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID\nleaf-1,64,2,0xb\nn1,1,1,0xa\nEND_NODES\nSTART_PORTS\n"
    "NodeGuid,PortNum,LinkWidthActv,LinkSpeedActv\n0xb,1,2,2048\nEND_PORTS\nSTART_LINKS\nNodeGuid1,PortNum1,NodeGuid2,"
    "PortNum2\n0xb,1,0xa,1\nEND_LINKS\n",
    "StartDevice,StartPort,EndDevice,EndPort,Speed\nleaf-1,P1,n1 HCA-1,P1,4xNDR\nleaf-1,P2,spine-1,P7,4xNDR\n",
    "MQM9700 leaf-01\n    P1 -4x-NDR-> HCA n1 P1\n    P2 -4x-100G-> MQM9700 spine-1 P9\n",
    'graph G {\n"leaf-1":"swp1" -- "n1":"eth0" [speed=1];\n"leaf-1":"swp2s1" -- "spine-1":"swp9"\n}\n',
    'Switch: 0xb leaf-1:\n           1    1[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>       2    1[  ] "n1 '
    'mlx5_0" ( )\n'
    'CA: n1 mlx5_0:\n      0xa      2    1[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>       1    1[  ] "leaf-1" ( )\n',
    "SW     1  1 0x000000000000000b 4x NDR - CA     2  1 0x000000000000000a ( 'leaf-1' - 'n1 mlx5_0' )\n",
    '{"lldp": {"interface": [{"swp1": {"chassis": {"leaf-2": {"id": {"type": "mac", "value": "x"}}}, "port": {"id": '
    '{"type": "ifname", "value": "swp9"}}}}]}}',
    '{"lldpNeighbors": [{"port": "Ethernet1/1", "neighborDevice": "spine-1", "neighborPort": "Ethernet9/1"}]}',
    "from_device,from_port,to_device,to_port,cable,label\nn1,nic0,leaf-1,1,hdr-dac,C0001\nleaf-1,2/1,spine-1,9,x,C0002\n",
    "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name\nleaf-1,dcim.interface,swp1,n1,"
    "dcim.interface,eth0\n",
    "id,device__name,name\na1,leaf-1,swp1\n",
    "termination_a_id,termination_b_id,label\na1,a2,C1\n",
    'name: lab\ntopology:\n  links:\n    - endpoints: ["leaf-1:eth1", "n1:eth1"]\n    - endpoints: [\'leaf-1:eth2\', '
    "spine-1:eth9]\n",
    '{"count": 1, "next": null, "results": [{"id": 1, "a_terminations": [{"object_type": "dcim.interface", "object": '
    '{"name": "swp1", "device": {"name": "leaf-1"}}}], "b_terminations": [{"object": {"name": "eth0", "device": '
    '{"display": "n1"}}}]}]}',
    '[{"id": "u", "termination_a": {"name": "swp1", "device": {"name": "leaf-1"}}, "termination_b": {"name": "eth0", '
    '"device": {"name": "n1"}}}]',
    '{"DEVICE_METADATA": {"localhost": {"hostname": "leaf-1"}}, "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "n1", '
    '"port": '
    '"eth0"}}, "PORT": {"Ethernet0": {"lanes": "0,1", "speed": "400000", "alias": "etp1"}}}',
    '<graphml><graph><node id="l1"><data key="role">leaf</data></node><edge source="n1/nic0" target="l1"><data '
    'key="b_port">1</data></edge></graph></graphml>',
)
"""A file of each form that the audit reads beside `ibnetdiscover`'s own."""
LOGS = (
    "# nThread 1 nGpus 1\n#  Rank  0 Group  0 Pid 1 on n1 device  0 [0x1b] H100\n#  Rank  1 Group  0 Pid 2 on "
    "n1 device  1"
    " [0x1c] H100\n# Collective test starting: all_reduce_perf\n 8388608 2097152 float sum -1 100.0 83.9 83.9 0 "
    "101 83.0 "
    "83.0 0\n",
    '{"nvbandwidth": {"testcases": [{"name": "host_to_device_memcpy_ce", "bandwidth_matrix": [["55.1", '
    '"55.2"]], "sum": '
    "110.3}]}}",
    '{"fio version": "fio-3.3", "jobs": [{"jobname": "a", "read": {"bw_bytes": 1000000, "iops": 10}, "write": '
    '{"bw_bytes": '
    "0}}]}",
    "IOR-4.0\nnodes               : 2\naccess    bw(MiB/s)  IOPS\nwrite     1000.0     10.0\nread      2000.0   "
    "  20.0\n",
    "STREAM version 5.10\nFunction    Best Rate MB/s  Avg time\nCopy:  100.0 0.1\nTriad:         200000.0     0.1\n",
    '<?xml version="1.0"?>\n<nvidia_smi_log><gpu '
    'id="00000000:1B:00.0"><pci><pci_gpu_link_info><pcie_gen><max_link_gen>5'
    "</max_link_gen></pcie_gen><link_widths><current_link_width>16x</current_link_width></link_width"
    "s></pci_gpu_link_info>"
    "</pci></gpu></nvidia_smi_log>",
    "check,host,size_bytes,gpus,target,measured\nallreduce,,1073741824,16,100,97.5\nhost_to_device,n1,,,50,49\n",
    FABRICS[0],
    FABRICS[1],
    " RDMA_Write Bidirectional BW Test\n Dual-port : OFF\tDevice : mlx5_0\n #bytes #iterations BW peak[Gb/sec] BW "
    "average[Gb/sec] MsgRate[Mpps]\n 65536 5000 392.31 391.90 0.747490\n",
    "results: {\nMsgSize: 65536,\nBW_average: 391.90,\nMsgRate: 0.747490,\n}\n",
    "mpirun -np 16 osu_allreduce -d cuda\n# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n"
    "1048576  87.53\n",
    "srun -N 2 --ntasks-per-node=1 osu_bw\n# OSU MPI Bandwidth Test v7.3\n# Size  Bandwidth (MB/s)\n4194304  9612.4\n",
    "# Benchmarking: allreduce\n# #processes: 16\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] stddev[%]\n"
    "1048576 16 4500.3 4600.1 4571.2 1.5\n",
    "| Diagnostic    | Result |\n| PCIe | Pass - All |\n| Info | GPU 0 GPU to Host bandwidth:  55.2 GB/s |\n"
    "| memory | Fail - GPU: 3 |\n|     | GPU3: Fail |\n",
    '{"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "pcie", "results": [{"entity_id": 0, "status": '
    '"Pass", "info": ["GPU 0 GPU to Host bandwidth:  55.26 GB/s"], "warnings": [{"warning": "x"}]}]}]}]}}',
    '{"num_hosts": 2, "host_cpu_count": [9, 9], "metric": {"train_au_meet_expectation": "fail", '
    '"train_io_mean_MB_per_second": 1000.0}}',
    "[METRIC] Training I/O Throughput (MB/second): 4000.0 (10.1)\n[METRIC] train_au_meet_expectation: success\n",
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV18\tPIX\t0-47\nGPU1\tNV18\t X \tSYS\t48-95\nNIC0\tPIX\tSYS\t X\n",
)
"""A log of each program that acceptance reads."""
SLURM = (
    "SwitchName=top Switches=l[1-2] LinkSpeed=4\nSwitchName=l1 \\\n Nodes=n[001-004,7]\n"
    "SwitchName=l2 Nodes=m[0-1]r[0-3]\n",
    "Include t.conf\nInclude .\nBlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=4,8\n",
    "---\n- topology: t\n  tree:\n    switches:\n    - {switch: a, nodes: 'n[1-2]'}\n- {topology: u, flat: true}\n",
    "kind: Namespace\n---\nkind: List\nitems:\n- kind: ConfigMap\n  data:\n    a: |\n      SwitchName=b Nodes=n1\n"
    "    topology.conf: |\n      Include a\n      SwitchName=c Switches=b\n",
    "$ scontrol show topology\nSwitchName=l1 Level=0 LinkSpeed=1 Nodes=n[1-2],\n",
)
"""Topologies of Slurm."""
REQUESTS = (
    "prompt,output,time\n1024,128,0\n2048,64,0.5\n",
    '{"timestamp": 0, "input_length": 1024, "output_length": 128}\n{"timestamp": 500, "input_length": 8, '
    '"output_length": 1}\n',
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:16:50.9,396,109\n",
)
"""Requests to a served model."""
HOURS = (
    "hour,requests\n" + "".join(f"{hour},{1000 + hour}\n" for hour in range(24)),
    "".join(f"{hour % 24 * 10.5}\n" for hour in range(168)),
)
"""Requests of the hours of a day and of a week."""
LAUNCHES = (
    "export TP=2 NODES=${NODES:-2}\nWORLD=$((8*$NODES))  # GPUs\nARGS=(\n  --num-layers 24 --hidden-size 1024 \\\n"
    '  --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024\n)\nDATA="--merge-file m.txt"\n'
    "torchrun --nproc_per_node 8 --nnodes $NODES x.py ${ARGS[@]} --tensor-model-parallel-size $TP --micro-batch-size 4 "
    "--bf16 --global-batch-size $(( WORLD * 8 )) --num-experts 8 --moe-layer-freq '([0]*2+[1]*22)'\n",
    "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nmodel:\n"
    "  micro_batch_size: 1\n  tensor_model_parallel_size: 2\n"
    "  encoder_seq_length: 4096\n  max_position_embeddings: ${.encoder_seq_length}\n  num_layers: 32\n"
    "  hidden_size: 4096\n"
    "  ffn_hidden_size: ${multiply:4, 4096}\n  num_attention_heads: 32\n  override_vocab_size: 32000\n",
    '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n[parallelism]\n'
    'data_parallel_shard_degree = -1\npipeline_parallel_degree = 2\n[activation_checkpoint]\nmode = "selective"\n',
    '{"train_batch_size": 256, "gradient_accumulation_steps": "auto", "bf16": {"enabled": true}, '
    '"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}',
    "".join(
        f"  {name} {'.' * 20} {value}\n"
        for name, value in {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 128}.items()
    )
    + "  padded_vocab_size ....... 512\n  position_embedding_type ....... rope\n  fp16 ....... False\n",
)
"""Arguments and settings of each program that trains."""
JOBS = "arrival_s,gpus,run_s\n0,8,3600\n10.5,16,1e4\n20,1,7\n"
MAP = "found,designed\nnode01 mlx5_0,compute-001/nic0\n~rack([0-9]+)-leaf,leaf-\\1\n# done\n"
NUMBERS = ("0", "-1", "1e999", "9" * 30, "9" * 5000, "²", "١", "1_0", "nan", "inf", "FFFFFFFF", "0x", "1e308")
"""What stands in place of a number."""


_IN_FRONT = (
    *("0: ", "  12: ", "head01: ", "> ", "+ ", "[1,0]<stdout>:", "2026-11-02T10:00:00.123Z ", "[pod/a-0/main] ", "7:"),
    *("     3\t", "\x1b[32m", "worker-0  | ", "INFO: ", "    "),
)
"""What programs and people put in front of every line."""


def pasted(text: str, chance: Random, others: tuple[str, ...] = ()) -> str:
    """Return a text behind prefixes, in a block of Markdown, with mixed line ends, cut, or before another; half as is.

    Args:
        others: texts that may follow; the text itself if there are none.
    """
    if chance.random() < 0.5:
        return text
    for _ in range(chance.choice((0, 1, 1, 2))):
        front = chance.choice(_IN_FRONT)
        text = "".join(front + line for line in text.splitlines(keepends=True))
    if chance.random() < 0.3:
        text = f"here it is:\n{chance.choice(('```', '~~~', '```yaml'))}\n{text}```\n"
    if chance.random() < 0.3:
        text = "".join(line + chance.choice(("\n", "\r\n", "\r", "\n\n")) for line in text.splitlines())
    if chance.random() < 0.3:
        text = text[chance.choice((0, chance.randrange(len(text) + 1))) : chance.randrange(len(text) + 1)]
    return f"{text}\n{chance.choice(others or (text,))}" if chance.random() < 0.2 else text


def damaged(text: str, chance: Random) -> str:
    """Return a text with some numbers replaced, some bytes changed, or a sign many times over; every third as it is."""
    if chance.random() < 0.3:
        return text
    if chance.random() < 0.5:
        at = chance.choice([found.span() for found in re.finditer(r"[0-9]+", text)] or [(0, 0)])
        text = text[: at[0]] + chance.choice(NUMBERS) + text[at[1] :]
    if chance.random() < 0.3:
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(" [({\"'a.,\n") * chance.choice((3, 200, 5000)) + text[place:]
    return noise(text.encode(), chance).decode("utf-8", "replace") if chance.random() < 0.7 else text
