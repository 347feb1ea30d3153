"""The `penstock` command. It reads what the user wants, calls the wiring, and shows what came out."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.errors import PenstockError, UsageError
from penstock.service.learning_commands import profile, tune
from penstock.service.options import Duration, Execution, Json, Load, Out, Seed
from penstock.service.reproduce_command import reproduce

if TYPE_CHECKING:
    from penstock.control import Entry
    from penstock.service.requests import RunRequest

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
Period = Annotated[float, typer.Option(help="Seconds between two observations.")]
Models = Annotated[Path | None, typer.Option(help="Folder of models that 'penstock profile' saved, for 'elysium'.")]
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
    dry_run: DryRun = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Run an application on Spark with a policy in charge; without --master, on a private cluster of its own."""
    from penstock.control import LoopSettings
    from penstock.service.requests import RunRequest
    from penstock.service.scale_requests import parse_scale_requests

    settings = LoopSettings(observe_every_s=period, decide_every_s=period, dry_run=dry_run)
    asked = parse_scale_requests(requests or ())
    request = RunRequest(
        application, policy, load, duration, seed, execution, True, workers, initial, target, settings, models, asked
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

    settings = LoopSettings(observe_every_s=period, decide_every_s=period, dry_run=dry_run)
    asked = parse_scale_requests(requests or ())
    request = RunRequest(
        application, policy, load, duration, seed, execution, False, workers, initial, target, settings, models, asked
    )
    _show_one(request, _simulated(request, out), out, as_json)


@app.command()
def compare(
    application: Name,
    policies: Annotated[str, typer.Option(help="Policies, separated by commas.")] = "static,threshold,ds2",
    load: Load = "sine",
    duration: Duration = 3600.0,
    seed: Seed = 0,
    execution: Execution = "pipelined",
    workers: Workers = None,
    initial: Initial = "largest",
    target: Target = None,
    period: Period = 10.0,
    live: Annotated[
        bool, typer.Option(help="Run on Spark, one policy after the other, instead of simulating.")
    ] = False,
    master: Master = None,
    models: Models = None,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Run several policies under the same load, and print one scoreboard."""
    from penstock.control import LoopSettings
    from penstock.service.policy_list import split_policies
    from penstock.service.requests import RunRequest, uses_models

    settings = LoopSettings(observe_every_s=period, decide_every_s=period)
    requests = [
        RunRequest(
            application,
            name,
            load,
            duration,
            seed,
            execution,
            live,
            workers,
            initial,
            target,
            settings,
            models if uses_models(name) else None,
        )
        for name in split_policies(policies)
    ]
    runs = {request.policy: _live(request, out, master) if live else _simulated(request, out) for request in requests}
    _show_many(requests[0], runs, out, as_json)


@app.command()
def demo(
    live: Annotated[bool, typer.Option(help="On a private Spark cluster, in real time, instead of simulated.")] = False,
    duration: Annotated[
        float | None, typer.Option(help="Length in seconds (default: 3600 simulated, 150 live).")
    ] = None,
    out: Out = Path("runs/demo"),
    as_json: Json = False,
) -> None:
    """Show the main job: an application whose load changes, with a policy in charge."""
    from penstock.control import LoopSettings
    from penstock.service.requests import RunRequest

    if not live:
        requests = [RunRequest("top-words", name, "sine", duration or 3600.0, seed=1) for name in ("static", "ds2")]
        _show_many(requests[0], {request.policy: _simulated(request, out) for request in requests}, out, as_json)
        return
    settings = LoopSettings(observe_every_s=5.0, decide_every_s=5.0, cooldown_s=15.0, settle_s=15.0)
    load, lasts_s = "sine:low=50,high=600", duration or 150.0
    request = RunRequest(
        "top-words", "ds2:catch_up_s=30", load, lasts_s, 1, "fused", True, 3, "smallest", 10.0, settings
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


@app.command()
def apps(as_json: Json = False) -> None:
    """List the applications."""
    from penstock.workloads import APPLICATIONS

    rows = [
        {
            "name": name,
            "summary": application.summary,
            "operators": len(application.topology.operators),
            "low_per_s": application.low_per_s,
            "high_per_s": application.high_per_s,
            "origin": application.origin,
        }
        for name, application in APPLICATIONS.items()
    ]
    _show_list(rows, ("name", "operators", "low_per_s", "high_per_s", "summary"), as_json)


@app.command()
def policies(as_json: Json = False) -> None:
    """List the policies with their parameters."""
    from penstock.policies import POLICIES

    rows = [
        {
            "name": name,
            "summary": info.summary,
            "parameters": {key: str(value) for key, value in info.parameters.items()},
        }
        for name, info in POLICIES.items()
    ]
    _show_described(rows, as_json)


@app.command()
def loads(as_json: Json = False) -> None:
    """List the load curves with their parameters."""
    from penstock.workloads import LOAD_INFOS

    rows = [
        {"name": info.name, "summary": info.summary, "parameters": dict(info.parameters)}
        for info in LOAD_INFOS.values()
    ]
    _show_described(rows, as_json)


for command in (profile, tune, reproduce):
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


def _live(request: "RunRequest", out: Path, master: str | None) -> "list[Entry]":
    import threading

    from penstock.service import show
    from penstock.service.live import LivePlace, Watcher, run_live
    from penstock.service.live_view import live_view
    from penstock.service.runs import kept_entries, run_folder
    from penstock.service.signals import first_interrupt

    folder = run_folder(out, request).absolute()
    place = LivePlace(folder, master, request.workers or 4)
    title = f"{request.application} with {request.policy} under {request.load}"
    interrupted = threading.Event()
    with first_interrupt(interrupted), live_view(title, request.duration_s, show.err) as follow:
        run_live(request, place, Watcher(follow, show.say, interrupted))
    return kept_entries(folder)


def _show_one(request: "RunRequest", entries: "Sequence[Entry]", out: Path, as_json: bool) -> None:
    _show_many(request, {request.policy: entries}, out, as_json, single=True)


def _show_many(
    request: "RunRequest", runs: "Mapping[str, Sequence[Entry]]", out: Path, as_json: bool, single: bool = False
) -> None:
    from penstock.evaluation import Scoreboard, measure, write_report
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
        show.out.print(Scoreboard.of(measures).table(title))
    show.say(f"Report: {report}")


def _show_list(rows: Sequence[dict[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    from penstock.service import show

    if as_json:
        show.print_json(rows)
        return
    show.print_table(columns, [[_cell(row[column]) for column in columns] for row in rows])


def _show_described(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Names with a line about each and, below it, the parameters."""
    from penstock.service import show

    if as_json:
        show.print_json(rows)
    else:
        show.print_described([(row["name"], row["summary"], row["parameters"]) for row in rows])


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Run the command line; what the user got wrong is one sentence on stderr and exit code 2."""
    try:
        app()
    except UsageError as error:
        sys.stderr.write(f"penstock: {error}\n")
        sys.exit(2)
    except PenstockError as error:
        sys.stderr.write(f"penstock: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("penstock: stopped.\n")
        sys.exit(130)
