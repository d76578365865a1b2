"""Rank 1 never comes to the process group: it waits for something else before."""

import os
import time

import torch.distributed as dist
import toy

if os.environ["RANK"] == "1":
    toy.say("hangs")
    time.sleep(3600)  # guilty
dist.init_process_group("gloo")  # others
dist.destroy_process_group()
