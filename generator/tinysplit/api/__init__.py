"""tinysplit in a script: the stages of the commands, with plain results (docs/do/library.md).

    from tinysplit import api

    boards = ["nucleo_g071rb", "nucleo_f401re"]
    found = api.split("model.onnx", boards, api.CostSettings(baud=921600), progress=print)
    made = api.generate("model.onnx", found, "calibration.npz", "out")
    api.build(made.folder).check()
    print(api.measure(made.folder, "samples.npz").to_rows())

Results are frozen dataclasses: `to_json` returns what the command prints with --json, `to_rows` and `to_frame` their
table. Errors are the classes of `tinysplit.common.errors`, derived from TinysplitError. `progress` gets each line that
the command prints on stderr. Boards are given by name, by the path of their file, or as what `load_board` returns.
"""

from tinysplit.api.arriving import ArrivalResult, ArrivalTimes, arrivals
from tinysplit.api.comparing import CompareResult, compare, report
from tinysplit.api.exploring import ExploredSet, ExploreResult, ExploreSettings, explore
from tinysplit.api.flashing import BoardUpdate, FlashedBoard, FlashResult, UpdateResult, flash, update
from tinysplit.api.fronts import ParetoPoint, ParetoResult, pareto
from tinysplit.api.given import load_board, load_model
from tinysplit.api.measuring import MeasureResult, measure
from tinysplit.api.networks import AnalyzeResult, QuantizeResult, ValidateResult, analyze, quantize, validate
from tinysplit.api.prediction import BoardUse, Prediction, predict
from tinysplit.api.programs import BoardProgram, BuildResult, GenerateResult, build, generate
from tinysplit.api.result import Result
from tinysplit.api.splitting import SplitLayer, SplitResult, split
from tinysplit.boards.board import ClockSource
from tinysplit.boards.board_files import board_names
from tinysplit.codegen.program_options import ProgramSettings
from tinysplit.common.choices import Copies, InputSource, ProgrammerName, SecondObjective, Slices, WeightsIn
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.link_options import LinkSetting
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.axes import Axis
from tinysplit.explore.goal import Ranked
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Objective
from tinysplit_hil.measure.measure_folder import MeasureSettings

__all__ = [
    "AnalyzeResult",
    "ArrivalResult",
    "ArrivalTimes",
    "Axis",
    "BoardProgram",
    "BoardUpdate",
    "BoardUse",
    "BuildResult",
    "ClockSource",
    "CompareResult",
    "Copies",
    "CostSettings",
    "ExploreResult",
    "ExploreSettings",
    "ExploredSet",
    "FlashResult",
    "FlashedBoard",
    "GenerateResult",
    "Goal",
    "InputSource",
    "LinkSetting",
    "MeasureResult",
    "MeasureSettings",
    "NetworkBuilder",
    "Objective",
    "ParetoPoint",
    "ParetoResult",
    "Prediction",
    "ProgramSettings",
    "ProgrammerName",
    "QuantizeResult",
    "Ranked",
    "Result",
    "Search",
    "SecondObjective",
    "Slices",
    "SplitLayer",
    "SplitResult",
    "TinysplitError",
    "UpdateResult",
    "ValidateResult",
    "WeightsIn",
    "analyze",
    "arrivals",
    "board_names",
    "build",
    "compare",
    "explore",
    "flash",
    "generate",
    "load_board",
    "load_model",
    "measure",
    "pareto",
    "predict",
    "quantize",
    "report",
    "split",
    "update",
    "validate",
]
