from pathlib import Path

import pytest

from penstock.errors import UnknownName, UsageError
from penstock.workloads import (
    LOAD_INFOS,
    LOADS,
    Bursts,
    Constant,
    Diurnal,
    Noisy,
    Ramp,
    Sine,
    Square,
    Stair,
    Step,
    Trace,
    parse_load,
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "load.csv"
    path.write_text("timestamp,value\n2026-01-01 00:00:00,1\n2026-01-01 00:01:00,4\n2026-01-01 00:02:00,2\n")
    return path


@pytest.mark.parametrize(
    ("text", "curve"),
    [
        ("constant", Constant(450)),
        ("constant:rate=12.5", Constant(12.5)),
        ("step", Step(100, 800, 200)),
        ("step:low=5,high=6,at=7", Step(5, 6, 7)),
        ("stair", Stair(100, 800, 600, 4)),
        ("stair:levels=8,period=60", Stair(100, 800, 60, 8)),
        ("square", Square(100, 800, 300)),
        ("square:duty=0.2", Square(100, 800, 300, 0.2)),
        ("sine:low=10,high=80,period=60", Sine(10, 80, 60)),
        ("sine:high=80,low=10,phase=0.25", Sine(10, 80, 300, 0.25)),
        ("ramp", Ramp(100, 800, 300, 0, 300)),
        ("ramp:rise=100,hold=50", Ramp(100, 800, 100, 50, 450)),
        ("ramp:rise=0,fall=60", Ramp(100, 800, 0, 0, 60)),
        ("diurnal:day=24,weekend=0.5,first=6", Diurnal(100, 800, 24, 0.5, 6)),
        ("bursts:seed=7", Bursts(100, 800, 100, 20, 7)),
        ("sine:noise=0.1,seed=3", Noisy(Sine(100, 800, 300), 0.1, 3)),
        (" sine : noise = 0 ", Sine(100, 800, 300)),
    ],
)
def test_a_load_is_what_its_text_says(text: str, curve: object) -> None:
    assert parse_load(text, 100, 800, 600) == curve


@pytest.mark.parametrize("name", [name for name in LOADS if name != "trace"])
def test_every_load_works_without_parameters_within_the_range_and_takes_noise(name: str) -> None:
    curve = parse_load(name, 100, 800, 600)
    rates = [curve.rate_per_s(float(at_s)) for at_s in range(600)]
    assert min(rates) >= 100
    assert max(rates) <= 800
    noisy = parse_load(f"{name}:noise=0.2,seed=1", 100, 800, 600)
    assert [noisy.rate_per_s(float(at_s)) for at_s in range(600)] != rates


@pytest.mark.parametrize("name", ["twitter", "news"])
def test_the_shapes_last_as_long_as_their_period(name: str) -> None:
    short, default = parse_load(f"{name}:period=60", 0, 100, 600), parse_load(name, 0, 100, 600)
    assert short.rate_per_s(30) == pytest.approx(default.rate_per_s(300))


def test_a_trace_is_read_compressed_and_scaled(trace: Path) -> None:
    curve = parse_load(f"trace:{trace},compress=30,peak=40", 100, 800, 600)
    assert curve == Trace((0, 2, 4), (10, 40, 20), 2)


def test_a_trace_reaches_the_applications_high_by_default(trace: Path) -> None:
    assert parse_load(f"trace:{trace}", 100, 800, 600) == Trace((0, 1, 2), (200, 800, 400), 1)
    assert parse_load(f"trace:{trace},start=2026-01-01T00:01:00", 100, 800, 600) == Trace((0, 1), (800, 400), 1)
    assert isinstance(parse_load(f"trace:{trace},noise=0.1", 100, 800, 600), Noisy)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no name"),
        (":low=1", "no name"),
        ("sinus", "no load 'sinus'; did you mean 'sine'"),
        ("sine:hight=3", "no parameter of load 'sine' called 'hight'; did you mean 'high'"),
        ("constant:low=3", "no parameter of load 'constant' called 'low'"),
        ("sine:low=many", "low=many, which is not a number"),
        ("sine:low=nan", "low=nan, which is not a number"),
        ("sine:low=inf", "low=inf, which is not a number"),
        ("sine:low=", "low=, which is not a number"),
        ("sine:low=-1", "low=-1; it must not be negative"),
        ("sine:low=900", "low=900 above high=800"),
        ("sine:low=5,low=6", "gives 'low' twice"),
        ("sine:period=0", "period=0; it must be above 0"),
        ("sine:100", "'100' without a name"),
        ("sine:phase=2", "phase=2"),
        ("sine:seed=1.5", "seed=1.5; it must be a whole number"),
        ("sine:noise=x", "noise=x, which is not a number"),
        ("stair:levels=1", "levels=1"),
        ("bursts:every=5,length=6", "length=6 above every=5"),
        ("trace", "must name one file"),
        ("trace:one.csv,two.csv", "must name one file"),
        ("trace:nowhere.csv", "no trace file 'nowhere.csv'"),
        ("trace:nowhere.csv,compress=0", "compress=0"),
        ("trace:nowhere.csv,start=soon", "start=soon"),
        ("trace:nowhere.csv,low=5", "no parameter of load 'trace' called 'low'"),
    ],
)
def test_every_mistake_is_told_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        parse_load(text, 100, 800, 600)
    assert "\n" not in str(caught.value)


def test_a_range_or_duration_that_makes_no_sense_is_refused() -> None:
    for low, high, duration in ((5.0, 4.0, 60.0), (-1.0, 4.0, 60.0), (1.0, float("inf"), 60.0), (1.0, 2.0, 0.0)):
        with pytest.raises(UsageError):
            parse_load("sine", low, high, duration)


def test_unknown_loads_are_unknown_names() -> None:
    with pytest.raises(UnknownName, match="choose one of: bursts, constant"):
        parse_load("xyz", 1, 2, 3)


def test_every_load_tells_about_itself_and_its_parameters() -> None:
    assert set(LOADS) == set(LOAD_INFOS)
    for name, info in LOAD_INFOS.items():
        assert info.name == name
        assert info.summary == LOADS[name]
        assert {"noise", "seed"} <= set(info.parameters)
        assert all(info.parameters.values())
