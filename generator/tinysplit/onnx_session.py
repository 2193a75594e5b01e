"""ONNX Runtime as all of the project uses it: on one thread, so that two runs give the same bits, and silent."""

import onnxruntime
from onnx import ModelProto

FATAL = 4  # ONNX Runtime's log level: what goes wrong is raised as well


def open_session(model: ModelProto) -> onnxruntime.InferenceSession:
    """Open the model; ONNX Runtime's errors, which derive from nothing more specific than Exception, pass."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
