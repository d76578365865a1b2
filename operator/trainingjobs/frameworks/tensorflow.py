"""TensorFlow: TF_CONFIG with the master as chief and every other instance as a worker.

An instance is one task however many `processesPerInstance` are asked for: a TensorFlow process
uses all devices that it sees. There is no evaluator, which all others would wait for, and no
parameter server: a script that wants some makes them of its last workers (example 12).

Source: tf.distribute.cluster_resolver.TFConfigClusterResolver.
"""

import json

from trainingjobs.frameworks.base import Environment, Place


def environment(place: Place) -> Environment:
    """TF_CONFIG of one instance; a group of one needs no cluster, and gets a chief alone."""
    addresses = [f"{place.address(rank)}:{place.job.spec.port}" for rank in range(place.job.size)]
    cluster = {"chief": addresses[:1]} | ({"worker": addresses[1:]} if addresses[1:] else {})
    task = (
        {"type": "chief", "index": 0}
        if place.rank == 0
        else {"type": "worker", "index": place.rank - 1}
    )
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}
