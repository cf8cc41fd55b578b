"""A rank of PyTorch for bench/ddp_speed.py: the networks of bench/torch_step.py, joined by DistributedDataParallel or not."""
import json
import os
import sys
import time

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # read when the ranks meet

import torch  # noqa: E402
import torch.distributed  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from torch_step import make_model  # noqa: E402


def make_step(request):
    """A function that trains the model by one batch."""
    memory = torch.channels_last if request["layout"] == "channels-last" else torch.contiguous_format
    torch.manual_seed(1)
    model = make_model(request["model"], request["classes"]).to(memory_format=memory).train()
    if request["joined"]:
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)
    batches = [(torch.rand(request["shape"]).contiguous(memory_format=memory),
                torch.randint(request["classes"], (request["shape"][0],))) for _ in range(4)]

    def step(i):
        inputs, labels = batches[i % 4]
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(inputs), labels).backward()
        optimizer.step()

    return step


def seconds_of_steps(step, request):
    """Seconds a step, for each epoch."""
    seconds = []
    for _ in range(request["epochs"]):
        begin = time.perf_counter()
        for i in range(request["steps"]):
            step(i)
        seconds.append((time.perf_counter() - begin) / request["steps"])
    return seconds


def serve(rank, meeting):
    """Answers each line of standard input, a request, by a line of JSON."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    steps = {}
    for line in sys.stdin:
        request = json.loads(line)
        which = (request["model"], request["layout"], request["joined"])
        if which not in steps:
            steps[which] = make_step(request)
        print(json.dumps({"seconds": seconds_of_steps(steps[which], request), "pytorch": torch.__version__}), flush=True)
