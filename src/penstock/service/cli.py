"""The `penstock` command. It reads what the user wants, calls the wiring, and shows what came out."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.errors import PenstockError, UsageError
from penstock.service.learning_commands import profile, tune
from penstock.service.list_commands import apps, loads, policies, solvers
from penstock.service.options import Duration, Execution, Json, Load, Out, Seed, Trigger
from penstock.service.place_command import place
from penstock.service.reproduce_command import reproduce

if TYPE_CHECKING:
    from penstock.control import Entry
    from penstock.service.requests import RunRequest
    from penstock.spark.cluster import SparkCluster

app = typer.Typer(
    name="penstock",
    help="Keeps streaming applications on Apache Spark fast and cheap while their load changes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="APP", help="Application (see 'penstock apps'); join several with '+'.")]
PolicyName = Annotated[str, typer.Option(help="Policy in charge, such as 'ds2' (see 'penstock policies').")]
Master = Annotated[str | None, typer.Option(help="Spark master, such as spark://host:7077 or local[2].")]
Workers = Annotated[
    int | None, typer.Option(help="Workers in the pool (default: as in the application's publication).")
]
Initial = Annotated[str, typer.Option(help="Start with everything allowed ('largest') or the least ('smallest').")]
Target = Annotated[float | None, typer.Option(help="Latency target in seconds (default: the application's).")]
Period = Annotated[float, typer.Option(help="Seconds between two observations; a change cools down for three of them.")]
Models = Annotated[
    Path | None, typer.Option(help="Folder of models: of 'penstock profile' for 'elysium', its own for 'autrascale'.")
]
Requests = Annotated[
    list[str] | None,
    typer.Option(
        "--request",
        metavar="S:out|in:N",
        help="After S seconds ask for N workers more or fewer, such as 60:out:1 or 180:in:1 (for 'stela'; repeatable).",
    ),
]
DryRun = Annotated[bool, typer.Option(help="Decide and keep a journal, but never act.")]


@app.command()
def run(
    application: Annotated[
        str, typer.Argument(metavar="APP", help="Application (see 'penstock apps'), or file.py:pipeline of your own.")
    ],
    policy: PolicyName = "ds2",
    load: Load = "sine",
    duration: Duration = 300.0,
    seed: Seed = 0,
    execution: Execution = "fused",
    master: Master = None,
    workers: Annotated[int, typer.Option(help="Executors in the pool.")] = 4,
    initial: Initial = "smallest",
    target: Target = None,
    period: Period = 5.0,
    models: Models = None,
    requests: Requests = None,
    trigger: Trigger = 0.5,
    dry_run: DryRun = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Run an application on Spark with a policy in charge; without --master, on a private cluster of its own."""
    from penstock.control import LoopSettings
    from penstock.service.requests import RunRequest
    from penstock.service.scale_requests import parse_scale_requests

    settings = LoopSettings.every(period, dry_run)
    request = RunRequest(
        application,
        policy,
        load,
        duration,
        seed=seed,
        execution=execution,
        live=True,
        workers=workers,
        initial=initial,
        latency_target_s=target,
        settings=settings,
        models=models,
        requests=parse_scale_requests(requests or ()),
        trigger_s=trigger,
    )
    _show_one(request, _live(request, out, master), out, as_json)


@app.command()
def simulate(
    application: Name,
    policy: PolicyName = "ds2",
    load: Load = "sine",
    duration: Duration = 3600.0,
    seed: Seed = 0,
    execution: Execution = "pipelined",
    workers: Workers = None,
    initial: Initial = "largest",
    target: Target = None,
    period: Period = 10.0,
    models: Models = None,
    requests: Requests = None,
    dry_run: DryRun = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Run an application under a policy in virtual time, and report what came of it."""
    from penstock.control import LoopSettings
    from penstock.service.requests import RunRequest
    from penstock.service.scale_requests import parse_scale_requests

    settings = LoopSettings.every(period, dry_run)
    request = RunRequest(
        application,
        policy,
        load,
        duration,
        seed=seed,
        execution=execution,
        workers=workers,
        initial=initial,
        latency_target_s=target,
        settings=settings,
        models=models,
        requests=parse_scale_requests(requests or ()),
    )
    _show_one(request, _simulated(request, out), out, as_json)


@app.command()
def compare(
    application: Name,
    policies: Annotated[str, typer.Option(help="Policies, separated by commas.")] = "static,threshold,ds2",
    load: Load = "sine",
    duration: Annotated[float | None, typer.Option(help="Seconds of every run (default: 3600, live 300).")] = None,
    seed: Seed = 0,
    execution: Annotated[
        str | None, typer.Option(help="'fused' or 'pipelined' (default: pipelined, live fused).")
    ] = None,
    workers: Workers = None,
    initial: Annotated[
        str | None, typer.Option(help="Start with 'largest' or 'smallest' (default: largest, live smallest).")
    ] = None,
    target: Target = None,
    period: Annotated[
        float | None, typer.Option(help="Seconds between two observations (default: 10, live 5).")
    ] = None,
    live: Annotated[
        bool, typer.Option(help="Run on Spark, one policy after the other, instead of simulating.")
    ] = False,
    master: Master = None,
    models: Models = None,
    trigger: Trigger = 0.5,
    rounds: Annotated[int, typer.Option(min=1, help="How often every policy is run; the policies take turns.")] = 1,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Run several policies under the same load, and print one scoreboard; live on one cluster, where Ctrl-C ends it."""
    from penstock.control import LoopSettings
    from penstock.service.policy_list import split_policies
    from penstock.service.requests import RunRequest, uses_models
    from penstock.service.runs import was_stopped

    every_s = (5.0 if live else 10.0) if period is None else period
    settings = LoopSettings.every(every_s)
    lasts_s = (300.0 if live else 3600.0) if duration is None else duration
    requests = [
        RunRequest(
            application,
            name,
            load,
            lasts_s,
            seed=seed,
            execution=execution or ("fused" if live else "pipelined"),
            live=live,
            workers=workers,
            initial=initial or ("smallest" if live else "largest"),
            latency_target_s=target,
            settings=settings,
            models=models if uses_models(name) else None,
            trigger_s=trigger,
        )
        for name in split_policies(policies)
    ]
    runs: dict[str, list[Entry]] = {}
    try:
        for name, entries in _in_turns(requests, rounds, out, master):
            runs[name] = entries
            if was_stopped(entries):
                break
    finally:
        # If a run fails the others were not in vain.
        if runs:
            _show_many(requests[0], runs, out, as_json)


def _in_turns(
    requests: "Sequence[RunRequest]", rounds: int, out: Path, master: str | None
) -> "Iterator[tuple[str, list[Entry]]]":
    """Run all requests, as often as there are rounds, and give each run a name; live ones share a cluster."""
    from contextlib import nullcontext

    from penstock.service.live import EXECUTORS, LivePlace

    live = requests[0].live
    place = LivePlace(out.absolute(), master, requests[0].workers or EXECUTORS)
    with place.opened() if live else nullcontext() as shared:
        for number in range(1, rounds + 1):
            folder, suffix = (out, "") if rounds == 1 else (out / f"round-{number}", f" #{number}")
            for request in requests:
                entries = _live(request, folder, master, shared) if live else _simulated(request, folder)
                yield f"{request.policy}{suffix}", entries


@app.command()
def demo(
    simulated: Annotated[bool, typer.Option("--simulated", help="In virtual time, without Spark.")] = False,
    duration: Annotated[float | None, typer.Option(help="Length in seconds (default: 180, simulated 3600).")] = None,
    out: Out = Path("runs/demo"),
    as_json: Json = False,
) -> None:
    """Show the main job: a private Spark cluster, an application whose load changes, and a policy in charge."""
    from penstock.control import LoopSettings
    from penstock.service.policy_list import LIVE_ELYSIUM
    from penstock.service.requests import RunRequest

    lasts_s = (3600.0 if simulated else 180.0) if duration is None else duration
    if simulated:
        requests = [RunRequest("top-words", name, "sine", lasts_s, seed=1) for name in ("static", "elysium")]
        _show_many(requests[0], {request.policy: _simulated(request, out) for request in requests}, out, as_json)
        return
    request = RunRequest(
        "top-words:service_ms=16",
        LIVE_ELYSIUM,
        f"sine:low=10,high=100,period={lasts_s:g}",
        lasts_s,
        execution="fused",
        live=True,
        workers=4,
        initial="smallest",
        latency_target_s=10.0,
        settings=LoopSettings.every(2.5),
        trigger_s=3.0,
    )
    _show_one(request, _live(request, out, None), out, as_json)


@app.command()
def doctor(
    quiet: Annotated[
        bool, typer.Option(help="Check the basics only, and speak only when something is missing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check what this machine has, and what its Spark can do beyond its public interface."""
    from dataclasses import asdict

    from penstock.errors import EnvironmentMissing
    from penstock.service import show
    from penstock.service.doctor import quick_findings, spark_findings

    findings = quick_findings()
    missing = next((finding for finding in findings if not finding.ok), None)
    if missing is None and not quiet:
        show.say("Starting a private Spark cluster to see what it can do (about 20 s) ...")
        findings += spark_findings()
    if as_json:
        show.print_json([asdict(finding) for finding in findings])
    elif not quiet:
        show.print_facts({finding.name: finding.detail for finding in findings})
    if missing is not None:
        raise EnvironmentMissing(missing.detail)


for command in (apps, policies, loads, solvers, profile, tune, reproduce, place):
    app.command()(command)


def _simulated(request: "RunRequest", out: Path) -> "list[Entry]":
    from penstock.service import show
    from penstock.service.runs import kept_entries, run_folder, simulated_journal
    from penstock.service.simulated import simulate as run_simulation

    folder = run_folder(out, request)
    title = f"Simulating {request.application} with {request.policy}"
    with simulated_journal(folder, show.say) as journal, show.progress(title, request.duration_s) as follow:
        run_simulation(request, journal, follow)
    return kept_entries(folder)


def _live(request: "RunRequest", out: Path, master: str | None, shared: "SparkCluster | None" = None) -> "list[Entry]":
    from penstock.service.live_view import run_in_view
    from penstock.service.runs import kept_entries

    return kept_entries(run_in_view(request, out, master, shared))


def _show_one(request: "RunRequest", entries: "Sequence[Entry]", out: Path, as_json: bool) -> None:
    _show_many(request, {request.policy: entries}, out, as_json, single=True)


def _show_many(
    request: "RunRequest", runs: "Mapping[str, Sequence[Entry]]", out: Path, as_json: bool, single: bool = False
) -> None:
    from penstock.evaluation import Scoreboard, measure, spreads, write_report
    from penstock.service import show

    measures = {name: measure(entries) for name, entries in runs.items()}
    # What the plots need to keep stays in the output folder as well.
    os.environ.setdefault("MPLCONFIGDIR", str(out / ".cache"))
    report = write_report(runs, out / "report.html")
    if as_json:
        rows = [one.as_json() for one in measures.values()]
        show.print_json(rows[0] if single else rows)
    else:
        title = f"{request.application} under {request.load} for {request.duration_s:g} s"
        board = Scoreboard.of(measures)
        for table in (board if single else board.in_short()).tables(title, show.out.width):
            show.out.print(table)
        for line in spreads(measures):
            show.out.print(line, markup=False, highlight=False, soft_wrap=True)
    show.say(f"Report: {report}")


def main() -> None:
    """Run the command line; what the user got wrong is one sentence on stderr and exit code 2."""
    try:
        app(prog_name="penstock")
    except UsageError as error:
        sys.stderr.write(f"penstock: {error}\n")
        sys.exit(2)
    except PenstockError as error:
        sys.stderr.write(f"penstock: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("penstock: stopped.\n")
        sys.exit(130)
