"""Print the float accuracy of the networks on their held-out samples, as ONNX Runtime computes it."""

from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).parent


def main() -> None:
    """Run all of samples.npz."""
    with np.load(HERE / "samples.npz") as samples:
        x, y = samples["x"], samples["y"]
    for path in sorted(HERE.glob("*.onnx")):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        logits = np.asarray(session.run(None, {"image": x})[0])
        correct = int((logits.argmax(axis=1) == y).sum())
        print(f"{path.stem}: top-1 accuracy, float32: {correct} of {len(y)} = {correct / len(y):.4f}")


if __name__ == "__main__":
    main()
