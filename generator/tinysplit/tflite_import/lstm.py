"""UNIDIRECTIONAL_SEQUENCE_LSTM of .tflite files in ONNX's LSTM."""

import numpy as np
from numpy.typing import NDArray

from tinysplit.tflite_import.tflite_file import TfliteOperator
from tinysplit.tflite_import.translation import RefusedError, Translation

X, GATES_OF_X, GATES_OF_H, BIASES = 0, 1, 5, 12  # operands; of four gates one after the other
UNSUPPORTED = (9, 10, 11, 16, 17, 20, 21, 22, 23)  # peepholes, projections and normalized gates
GATES = (0, 3, 1, 2)  # input, output, forget and cell gate, which TensorFlow Lite has as input, forget, cell and output
WIDE_CLIP = 10  # of cell states, in which each step adds one at most
TANH = 4  # of the enumeration ActivationFunctionType


def lstm(to: Translation, operator: TfliteOperator) -> None:
    """Translate an LSTM whose states begin with zeros: those that the file keeps between inferences are not used.

    A wide clip of the cell state, which Keras writes, is left out. Raises RefusedError for parts that most do not have.
    """
    operands, options = operator.inputs, operator.options
    if any(k < len(operands) and operands[k] != -1 for k in UNSUPPORTED):
        raise RefusedError("has peepholes, a projection or normalized gates, which are not supported")
    if operands[GATES_OF_X] == -1:
        raise RefusedError("has coupled input and forget gates, which are not supported")
    if options.get("TimeMajor", 0):
        raise RefusedError("has its steps before the batch, which is not supported")
    if options.get("FusedActivationFunction", 0) != TANH or 0 < options.get("CellClip", 0) < WIDE_CLIP:
        raise RefusedError(f"has another activation than tanh, or a clip below {WIDE_CLIP}, which are not supported")

    def gates(first: int) -> NDArray[np.float32]:
        each = [operands[first + gate] for gate in GATES]
        return np.concatenate([to.tensor(index).real(to.known(index)) for index in each])[np.newaxis]

    weights, recurrent, bias = gates(GATES_OF_X), gates(GATES_OF_H), gates(BIASES)
    units = recurrent.shape[2]
    value = to.node("Transpose", [to.read(operands[X])], perm=(1, 0, 2))
    both = np.concatenate([bias, np.zeros_like(bias)], axis=1)
    constants = [to.constant(each) for each in (weights, recurrent, both)]
    value = to.node("LSTM", [value, *constants], hidden_size=units)
    value = to.node("Squeeze", [value, to.constant(np.array([1], np.int64))])
    to.write(operator.outputs[0], to.node("Transpose", [value], perm=(1, 0, 2)))
