"""Fine-tunes a ResNet that is an ONNX file: a new output layer learns other classes, the layers below start where they were."""
import numpy as np
import yoke

random = np.random.default_rng(1)


def stripes(count, directions):
    """Colour images of 16x16 pixels with stripes of one of so many directions, and which."""
    y = random.integers(0, directions, count)
    angle = (y * np.pi / directions)[:, None, None]
    rows, columns = np.mgrid[0:16, 0:16]
    waves = np.sin((rows * np.cos(angle) + columns * np.sin(angle)) * 1.5 + random.uniform(0, 6, (count, 1, 1)))
    images = waves[:, None] * random.uniform(0.3, 1, (count, 3, 1, 1)) + random.normal(0, 0.3, (count, 3, 16, 16))
    return images.astype(np.float32), y


job = {"model": {"name": "resnet20"}, "train": {"epochs": 3, "batch": 32, "learning_rate": 0.05}}
yoke.train(job, stripes(1000, 4)).model().export("resnet.onnx")

few, test = stripes(200, 6), stripes(300, 6)
tuned = {"model": {"file": "resnet.onnx", "replace_head": True}, "train": {"epochs": 6, "batch": 16, "learning_rate": 0.02}}
anew = {"model": {"name": "resnet20"}, "train": tuned["train"]}
print("anew", yoke.train(anew, {"train": few, "test": test}).test["accuracy"])
print("fine-tuned", yoke.train(tuned, {"train": few, "test": test}).test["accuracy"])
