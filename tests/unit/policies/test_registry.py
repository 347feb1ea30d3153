from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from penstock.errors import UnknownName, UsageError
from penstock.model import Decision, Keep, View
from penstock.policies import POLICIES, Ds2, Static, Threshold, policy, register, registry


@dataclass(frozen=True, slots=True)
class Sleepy:
    """A policy of a third party."""

    eager: bool = False
    limit: int | None = None

    def start(self) -> None:
        """It remembers nothing."""

    def decide(self, view: View, memory: None) -> tuple[Decision, None]:
        return Keep("sleeping"), None


@pytest.fixture
def sleepy() -> Iterator[None]:
    register("sleepy", "does nothing", Sleepy)
    yield
    del registry._policies["sleepy"]


def test_what_there_is() -> None:
    assert {"static", "threshold", "ds2"} <= set(POLICIES)
    info = POLICIES["threshold"]
    assert info.name == "threshold"
    assert "Elastic Storm" in info.summary
    assert str(info) == info.summary
    assert info.parameters["upper"] == 0.7
    assert all(isinstance(info.factory(), type(policy(name))) for name, info in POLICIES.items())


def test_parameters_are_read_as_their_types() -> None:
    assert policy("ds2") == Ds2()
    assert policy("ds2:utilisation=0.5, activation_rounds=3") == Ds2(utilisation=0.5, activation_rounds=3)
    assert policy("threshold:upper=0.9,cooldown_rounds=0") == Threshold(upper=0.9, cooldown_rounds=0)
    assert policy("static:largest") == policy("static:preset=largest") == Static("largest")
    assert policy("static:workers=3,parallelism=none") == Static(workers=3)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("ds3", UnknownName, "There is no policy 'ds3'; did you mean 'ds2'?"),
        ("ds2:utilization=1", UnknownName, "did you mean 'utilisation'"),
        (
            "ds2:activation_rounds=2.5",
            UsageError,
            "'activation_rounds' of policy 'ds2' must be a whole number, not '2.5'",
        ),
        ("ds2:utilisation=much", UsageError, "must be a number, not 'much'"),
        ("ds2:utilisation=nan", UsageError, "must be a number, not 'nan'"),
        ("ds2:utilisation=inf", UsageError, "must be a number"),
        ("ds2:utilisation=1.5", UsageError, "at most 1, not 1.5"),
        ("static:huge", UsageError, "must be one of initial, smallest, largest, ss1, ss2, ss3, not 'huge'"),
        ("static:workers=few", UsageError, "must be a whole number or none, not 'few'"),
        ("static:largest,preset=initial", UsageError, "gives 'preset' twice"),
        ("static:a,b,c,d", UsageError, "more values than policy 'static' has parameters"),
        ("threshold:upper=0.1", UsageError, "0 <= lower < upper <= 1"),
        ("threshold:gap=0.8", UsageError, "stability gap"),
        ("threshold:window_s=0", UsageError, "window_s above 0"),
        ("ds2:window_s=0", UsageError, "window_s above 0"),
        ("ds2:warm_up_s=-1", UsageError, "at least 0"),
        (":x=1", UsageError, "no name"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        policy(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("sleepy")
def test_a_registered_policy_is_listed_and_made() -> None:
    assert POLICIES["sleepy"].parameters == {"eager": False, "limit": None}
    assert policy("sleepy:eager=yes,limit=4") == Sleepy(True, 4)
    assert policy("sleepy:eager=0") == Sleepy()
    with pytest.raises(UsageError, match="must be true or false, not 'maybe'"):
        policy("sleepy:eager=maybe")
    with pytest.raises(UsageError, match="already is a policy 'sleepy'"):
        register("sleepy", "again", Sleepy)


def test_what_cannot_be_registered() -> None:
    def factory() -> Sleepy:
        return Sleepy()

    with pytest.raises(UsageError, match="must be a dataclass"):
        register("function", "a function", factory)
    with pytest.raises(UsageError, match="cannot be a policy's name"):
        register("a:b", "a colon", Sleepy)
    assert not {"function", "a:b"} & set(POLICIES)


def test_every_parameter_needs_a_default() -> None:
    @dataclass(frozen=True, slots=True)
    class Demanding:
        level: float

        def start(self) -> None:
            """It remembers nothing."""

        def decide(self, view: View, memory: None) -> tuple[Decision, None]:
            return Keep("no"), None

    with pytest.raises(UsageError, match="'level' of policy 'demanding' needs a default"):
        register("demanding", "wants much", Demanding)
