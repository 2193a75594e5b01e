"""ONNX Runtime sessions for float arithmetic: the same results on every processor, in every run, without log output.

ONNX Runtime's higher levels of optimization compute an operator between DequantizeLinear and QuantizeLinear in integers,
on x86 without VNNI with sums that saturate in 16 bits, and lay values out by the width of the processor's vectors.
"""

import onnxruntime
from onnx import ModelProto

FATAL = 4  # ONNX Runtime's log level: errors are also raised
NEWEST_IR = 10  # later file formats add nothing to float networks, but ONNX Runtime refuses those newer than itself


def open_session(model: ModelProto) -> onnxruntime.InferenceSession:
    """Open the model on one thread; ONNX Runtime's errors, which derive from nothing more specific than Exception, pass.

    Pairs of QuantizeLinear and DequantizeLinear stay, each of them; constants are folded, dequantized weights too.
    """
    readable = ModelProto()
    readable.CopyFrom(model)
    readable.ir_version = min(model.ir_version, NEWEST_IR)
    return onnxruntime.InferenceSession(readable.SerializeToString(), _options(), providers=["CPUExecutionProvider"])


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return options
