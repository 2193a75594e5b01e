"""Mixed-integer linear programming with HiGHS: a solver and test oracle that shares no code with the others.

It supports every objective, limit and rule, on chains and graphs, but only the period `load`: the other definitions
are not linear. HiGHS runs in this process, checks its time limit only occasionally, and cannot be interrupted.
"""

from milp.constraints import SplitProgram
from milp.model import Solution
from milp.objectives import add_figures, is_linear
from milp.ram import add_ram
from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.common.errors import UsageError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity


def solve_with_highs(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the best split that HiGHS finds in `time_limit_s` seconds, with its lower bound.

    Raises:
        UsageError: the objective or a limit needs a period that is not linear.
        NoSplitError: HiGHS proved the problem infeasible, or found nothing in time.
    """
    if not is_linear(problem):
        raise UsageError(f"HiGHS does not support the period {problem.period_definition}")
    check_capacity(problem)
    start = clock.now()
    program = SplitProgram(problem)
    add_ram(program)
    add_figures(program)
    assignment, last, n_nodes = _solve(program, start + time_limit_s)
    if assignment is None:
        raise NoSplitError(proved=last.is_infeasible)
    return Split(
        problem=problem,
        assignment=assignment,
        lower_bound=min(evaluate(problem, assignment).value, last.lower_bound),
        explored=n_nodes,
        solver="highs",
        spent_s=clock.now() - start,
    )


def _solve(program: SplitProgram, deadline: float) -> tuple[Assignment | None, Solution, int]:
    """Return the best assignment, the last result of HiGHS, and the number of its branch-and-bound nodes.

    HiGHS tolerates small violations of constraints. An infeasible assignment is excluded, and HiGHS starts again.
    """
    n_nodes = 0
    while True:
        solution = program.solve(deadline)
        n_nodes += solution.n_nodes
        if solution.values is None:
            return None, solution, n_nodes
        assignment = program.assignment(solution.values.tolist())
        if evaluate(program.problem, assignment).is_feasible:
            return assignment, solution, n_nodes
        program.exclude(assignment)
