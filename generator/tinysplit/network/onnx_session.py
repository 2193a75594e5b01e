"""ONNX Runtime sessions that compute each operator as the file has it, on one thread, and without log output.

Optimizations of ONNX Runtime merge pairs of QuantizeLinear and DequantizeLinear, and compute the operators between them
in integers: on x86 processors without VNNI with sums that saturate in 16 bits. Others depend on the width of vectors.
"""

import onnxruntime
from onnx import ModelProto

FATAL = 4  # ONNX Runtime's log level: errors are also raised
NEWEST_IR = 10  # later file formats add nothing to float networks, but ONNX Runtime refuses those newer than itself


def open_session(model: ModelProto) -> onnxruntime.InferenceSession:
    """Open the model; ONNX Runtime's errors, which derive from nothing more specific than Exception, pass."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    readable = ModelProto()
    readable.CopyFrom(model)
    readable.ir_version = min(model.ir_version, NEWEST_IR)
    return onnxruntime.InferenceSession(readable.SerializeToString(), options, providers=["CPUExecutionProvider"])
