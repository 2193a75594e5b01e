"""The energy of what a board of a generated folder does."""

from tinysplit.project.activity import BoardActivity
from tinysplit.project.manifest import ProjectBoard


def board_energy_j(board: ProjectBoard, activity: BoardActivity) -> float | None:
    """Return the joules of an activity, None if a current that it needs is not known.

    An external memory that is in use counts, too.
    """
    run_w, idle_w, stop_w = board.run_w, board.idle_w, board.stop_w
    if run_w is None or idle_w is None or (stop_w is None and activity.stop_s > 0):
        return None
    own_j = run_w * activity.run_s + idle_w * activity.sleep_s + (stop_w or 0.0) * activity.stop_s
    external = board.external_power
    if external is None:
        return own_j
    return own_j + external.read_w * activity.external_s + external.standby_w * activity.span_s
