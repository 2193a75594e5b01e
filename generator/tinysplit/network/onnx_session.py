"""ONNX Runtime sessions: on one thread, so that runs are reproducible bit by bit, and without log output."""

import onnxruntime
from onnx import ModelProto

FATAL = 4  # ONNX Runtime's log level: errors are also raised
NEWEST_IR = 10  # later file formats add nothing to float networks, but ONNX Runtime refuses those newer than itself


def open_session(model: ModelProto) -> onnxruntime.InferenceSession:
    """Open the model; ONNX Runtime's errors, which derive from nothing more specific than Exception, pass."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    readable = ModelProto()
    readable.CopyFrom(model)
    readable.ir_version = min(model.ir_version, NEWEST_IR)
    return onnxruntime.InferenceSession(readable.SerializeToString(), options, providers=["CPUExecutionProvider"])
