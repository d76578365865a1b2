"""ParameterServerStrategy: the model lies on parameter servers, workers train at their own pace.

TF_CONFIG as it comes has the master as chief and all others as workers. Here the last of these
become parameter servers. The chief hands out the steps; the others serve until it is done.
"""

import json
import os
import sys
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

PARAMETER_SERVERS = int(os.environ.get("PARAMETER_SERVERS", "1"))
EPOCHS = int(os.environ.get("EPOCHS", "15"))
BATCH = int(os.environ.get("BATCH", "40"))  # of one step of one worker
RATE = 0.2
TRAIN_SIZE = 1440

Data = tuple[np.ndarray, np.ndarray]
Step = Callable[[tf.Tensor], tf.Tensor]


def with_servers(config: str, servers: int) -> str:
    """TF_CONFIG with the last workers as parameter servers."""
    told = json.loads(config)
    task, instances = told["task"], told["cluster"]["worker"]
    workers = len(instances) - servers
    told["cluster"] |= {"worker": instances[:workers], "ps": instances[workers:]}
    if task["type"] == "worker" and task["index"] >= workers:
        told["task"] = {"type": "ps", "index": task["index"] - workers}
    return json.dumps(told)


def digits() -> tuple[Data, Data]:
    """The samples to train on, and the samples to test with."""
    pixels, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(
        (pixels / 16).astype(np.float32), labels, train_size=TRAIN_SIZE, random_state=0
    )
    return (x, y), (x_test, y_test)


class Model(tf.Module):
    """Two layers, and how often each sample was used: all of it lies on the parameter servers."""

    def __init__(self) -> None:
        super().__init__()
        first, second = (tf.random.stateless_normal((64, n), (0, n)) / 8 for n in (64, 10))
        self.w1, self.b1 = tf.Variable(first), tf.Variable(tf.zeros(64))
        self.w2, self.b2 = tf.Variable(second), tf.Variable(tf.zeros(10))
        self.used = tf.Variable(tf.zeros(TRAIN_SIZE, tf.int32), trainable=False)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """What the model thinks of each digit."""
        return tf.nn.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2


def a_step(model: Model, data: Data) -> Step:
    """A step that any worker can take: it reads the parameters, and moves them a little."""

    @tf.function
    def step(numbers: tf.Tensor) -> tf.Tensor:
        x, y = (tf.gather(part, numbers) for part in data)
        with tf.GradientTape() as tape:
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x))
            loss = tf.reduce_mean(each)
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
            variable.assign_sub(RATE * gradient)
        model.used.scatter_add(tf.IndexedSlices(tf.ones_like(numbers), numbers))
        tf.print("loss", loss)  # in the worker's own log
        return loss

    return step


def train(
    coordinator: tf.distribute.coordinator.ClusterCoordinator, model: Model, step: Step
) -> tuple[list[float], list[list[int]]]:
    """The mean loss of each epoch, and how often the samples were used until its end."""
    losses, used = [], []
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(TRAIN_SIZE).astype(np.int32)
        batches = map(tf.constant, order.reshape(-1, BATCH))
        taken = [coordinator.schedule(step, (numbers,)) for numbers in batches]
        coordinator.join()
        losses.append(round(float(np.mean(coordinator.fetch(taken))), 6))
        used.append(sorted({*model.used.numpy().tolist()}))
        sys.stdout.write(f"epoch {epoch + 1} of {EPOCHS}: loss {losses[-1]}\n")
    return losses, used


def coordinate(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Be the chief: hand out all steps, then say what came of them."""
    strategy = tf.distribute.ParameterServerStrategy(resolver)  # returns when all others serve
    data, (x_test, y_test) = digits()
    with strategy.scope():
        model = Model()
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    losses, used = train(coordinator, model, a_step(model, data))
    cluster = resolver.cluster_spec()
    report = {
        "tasks": {kind: cluster.num_tasks(kind) for kind in cluster.jobs},
        "accuracy": float((model(x_test).numpy().argmax(1) == y_test).mean()),
        "losses": losses,
        "used": used,
    }
    sys.stdout.write(json.dumps(report) + "\n")


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Be a worker or a parameter server, until the job ends with its chief."""
    kind, index = resolver.task_type, resolver.task_id
    sys.stdout.write(f"{kind} {index} serves\n")
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=kind, task_index=index, protocol="grpc"
    )
    server.join()


def main() -> None:
    """Be what TF_CONFIG says."""
    os.environ["TF_CONFIG"] = with_servers(os.environ["TF_CONFIG"], PARAMETER_SERVERS)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    coordinate(resolver) if resolver.task_type == "chief" else serve(resolver)


if __name__ == "__main__":
    main()
