"""MultiWorkerMirroredStrategy on 1,797 real handwritten digits: a replica in every instance.

TF_CONFIG says who is in the group and which of them this is; the strategy reads it by itself.
More replicas share the same global batch, so the losses are those of one process alone.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

EPOCHS = int(os.environ.get("EPOCHS", "15"))
GLOBAL_BATCH = int(os.environ.get("GLOBAL_BATCH", "120"))  # of all replicas together
TRAIN_SIZE = 1440  # divides by 1, 2, 3, 4, 5, 6 and 8: no replica has to repeat a sample
STEPS = TRAIN_SIZE // GLOBAL_BATCH

Data = tuple[np.ndarray, np.ndarray]
Step = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def digits() -> tuple[Data, Data]:
    """The samples to train on, and the samples to test with."""
    pixels, labels = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(
        (pixels / 16).astype(np.float32), labels, train_size=TRAIN_SIZE, random_state=0
    )
    return (x, y), (x_test, y_test)


def a_model() -> tf.keras.Model:
    """The same everywhere: the chief's first values go to all replicas."""
    tf.keras.utils.set_random_seed(0)
    hidden = tf.keras.layers.Dense(64, activation="relu")
    return tf.keras.Sequential([tf.keras.Input((64,)), hidden, tf.keras.layers.Dense(10)])


def shares(data: Data, context: tf.distribute.InputContext) -> tf.data.Dataset:
    """This instance's part of each global batch, with the samples' numbers, epoch after epoch."""
    orders = [np.random.default_rng(epoch).permutation(TRAIN_SIZE) for epoch in range(EPOCHS)]
    numbers = np.concatenate(orders)  # the same on all instances, each epoch in a new order
    samples = tf.data.Dataset.from_tensor_slices((data[0][numbers], data[1][numbers], numbers))
    own = samples.shard(context.num_input_pipelines, context.input_pipeline_id)
    return own.batch(context.get_per_replica_batch_size(GLOBAL_BATCH))


def a_step(strategy: tf.distribute.Strategy, model: tf.keras.Model) -> Step:
    """A step of all replicas together, and the loss over the global batch."""
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)

    def own(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
            loss = tf.reduce_sum(each) / GLOBAL_BATCH  # not of the own share: gradients are summed
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return strategy.reduce("SUM", strategy.run(own, (x, y)), axis=None)

    return step


def train(
    strategy: tf.distribute.Strategy, model: tf.keras.Model, data: Data
) -> tuple[list[float], list[int]]:
    """The loss of each epoch over the whole group, and the samples that this instance had in it."""
    with strategy.scope():
        step = a_step(strategy, model)
    batches = iter(strategy.distribute_datasets_from_function(lambda own: shares(data, own)))
    losses, seen = [], []
    for epoch in range(EPOCHS):
        total, samples = 0.0, 0
        for _ in range(STEPS):
            x, y, numbers = next(batches)
            total += float(step(x, y))
            own = strategy.experimental_local_results(numbers)
            samples += sum(1 << int(number) for number in np.concatenate(own))
        losses.append(round(total / STEPS, 6))
        seen.append(samples)
        sys.stdout.write(f"epoch {epoch + 1} of {EPOCHS}: loss {losses[-1]}\n")
    return losses, seen


def accuracy(strategy: tf.distribute.Strategy, model: tf.keras.Model, test: Data) -> float:
    """What all replicas say together: nobody leaves while another still trains."""

    @tf.function
    def own() -> tf.Tensor:
        right = tf.equal(tf.argmax(model(test[0]), 1), test[1])
        return tf.reduce_mean(tf.cast(right, tf.float32))

    return float(strategy.reduce("MEAN", strategy.run(own), axis=None))


def main() -> None:
    """Join the group, train, say what came of it."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # returns when all instances have come
    data, test = digits()
    with strategy.scope():
        model = a_model()
    losses, seen = train(strategy, model, data)
    parameters = b"".join(weights.tobytes() for weights in model.get_weights())
    report: dict[str, Any] = {
        "task": [strategy.cluster_resolver.task_type, strategy.cluster_resolver.task_id],
        "world_size": strategy.num_replicas_in_sync,
        "accuracy": accuracy(strategy, model, test),
        "losses": losses,
        "parameters_sha256": hashlib.sha256(parameters).hexdigest(),
        "seen": [f"{samples:x}" for samples in (seen[0], seen[-1])],
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
