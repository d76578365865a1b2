"""Data-parallel training with JAX on 1,797 real handwritten digits, gradients summed over all.

`jax.distributed.initialize()` finds everything in the environment. After it, each process sees
the devices of the whole group. More of them share the same global batch, so the losses are
those of one process alone.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = int(os.environ.get("GLOBAL_BATCH", "120"))  # of all devices together
TRAIN_SIZE = 1440  # divides by 1, 2, 3, 4, 5, 6 and 8: no device has to repeat a sample
STEPS = TRAIN_SIZE // GLOBAL_BATCH
RATE, MOMENTUM = 0.1, 0.9
WHOLE, SHARE = PartitionSpec(), PartitionSpec("data")

Data = tuple[np.ndarray, np.ndarray]
Parameters = dict[str, jax.Array]
State = tuple[Parameters, Parameters]  # the model, and its momentum


def digits() -> tuple[Data, Data]:
    """The samples to train on, and the samples to test with."""
    pixels, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(
        (pixels / 16).astype(np.float32), labels, train_size=TRAIN_SIZE, random_state=0
    )
    return (x, y), (x_test, y_test)


def beginning() -> State:
    """The same in all processes, since they have the same seed."""
    first, second = jax.random.split(jax.random.key(0))
    model = {
        "w1": jax.random.normal(first, (64, 64)) / 8,
        "b1": jnp.zeros(64),
        "w2": jax.random.normal(second, (64, 10)) / 8,
        "b2": jnp.zeros(10),
    }
    return model, jax.tree.map(jnp.zeros_like, model)


def logits(model: Parameters, x: jax.Array) -> jax.Array:
    """What the model thinks of each digit."""
    return jax.nn.relu(x @ model["w1"] + model["b1"]) @ model["w2"] + model["b2"]


def part_of_loss(model: Parameters, x: jax.Array, y: jax.Array) -> jax.Array:
    """What a device's own share adds to the mean loss over the global batch."""
    chances = jax.nn.log_softmax(logits(model, x))
    return -jnp.take_along_axis(chances, y[:, None], axis=1).sum() / GLOBAL_BATCH


def step(state: State, x: jax.Array, y: jax.Array) -> tuple[State, jax.Array]:
    """A step of one device with its own share: psum makes it the same step on all."""
    model, speed = state
    own = jax.lax.pcast(model, "data", to="varying")  # else JAX itself would sum the gradients
    loss, gradients = jax.lax.psum(jax.value_and_grad(part_of_loss)(own, x, y), "data")
    speed = jax.tree.map(lambda v, g: MOMENTUM * v + g, speed, gradients)
    model = jax.tree.map(lambda p, v: p - RATE * v, model, speed)
    return (model, speed), loss


def a_step(mesh: Mesh) -> Callable[[State, jax.Array, jax.Array], tuple[State, jax.Array]]:
    """The step of all devices together, compiled."""
    specs = {"in_specs": (WHOLE, SHARE, SHARE), "out_specs": (WHOLE, WHOLE)}
    return jax.jit(jax.shard_map(step, mesh=mesh, **specs))


def train(mesh: Mesh, data: Data) -> tuple[Parameters, list[float], list[int]]:
    """The model, the loss of each epoch, and the samples that this process had in it."""
    place = partial(jax.make_array_from_process_local_data, NamedSharding(mesh, SHARE))
    state, run = jax.device_put(beginning(), NamedSharding(mesh, WHOLE)), a_step(mesh)
    rank, size = jax.process_index(), jax.process_count()
    losses, seen = [], []
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(TRAIN_SIZE)  # the same in all processes
        total, samples = 0.0, 0
        for numbers in order.reshape(STEPS, GLOBAL_BATCH)[:, rank::size]:
            state, loss = run(state, *(place(part[numbers]) for part in data))
            total += float(loss)
            samples += sum(1 << int(number) for number in numbers)
        losses.append(round(total / STEPS, 6))
        seen.append(samples)
        if rank == 0:
            sys.stdout.write(f"epoch {epoch + 1} of {EPOCHS}: loss {losses[-1]}\n")
    return state[0], losses, seen


def digest(model: Parameters) -> str:
    """The same for two models that are equal to the last bit, and for no others."""
    parts = (np.asarray(model[name]).tobytes() for name in sorted(model))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def main() -> None:
    """Join the group, train, say what came of it, leave the group."""
    jax.distributed.initialize()  # returns when all processes have come
    devices = jax.devices()
    if GLOBAL_BATCH % len(devices):
        sys.exit(f"GLOBAL_BATCH={GLOBAL_BATCH} does not divide by {len(devices)} devices")
    data, (x_test, y_test) = digits()
    model, losses, seen = train(Mesh(np.array(devices), ("data",)), data)
    own = {name: values.addressable_data(0) for name, values in model.items()}
    report = {
        "rank": jax.process_index(),
        "world_size": jax.process_count(),
        "accuracy": float((logits(own, x_test).argmax(1) == y_test).mean()),
        "losses": losses,
        "parameters_sha256": digest(own),
        "seen": [f"{samples:x}" for samples in (seen[0], seen[-1])],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
