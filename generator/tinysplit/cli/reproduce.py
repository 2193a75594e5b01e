"""`tinysplit reproduce`: published tables and figures, computed again."""

from tinysplit.cli.basic_options import Json, emit
from tinysplit.reproduce.report import print_reproduction
from tinysplit.reproduce.tables import reproduce as reproduce_tables


def reproduce(as_json: Json = False) -> None:
    """Compute the tables and figures of three publications and compare them with the published values."""
    reproduction = reproduce_tables()
    emit(as_json, reproduction.to_json(), lambda console: print_reproduction(reproduction, console))
    reproduction.check()
