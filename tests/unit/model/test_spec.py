import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.model import Spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("sine", Spec("sine")),
        ("sine:low=100,high=800", Spec("sine", {"low": "100", "high": "800"})),
        (
            "trace:tweets.csv,compress=60,peak=800",
            Spec("trace", {"compress": "60", "peak": "800"}, ("tweets.csv",)),
        ),
        ("static:largest", Spec("static", {}, ("largest",))),
        (" sine : low = 1 ,, high=2 ", Spec("sine", {"low": "1", "high": "2"})),
        ("sine:", Spec("sine")),
        ("trace:C:x.csv", Spec("trace", {}, ("C:x.csv",))),
        ("a:b=c=d", Spec("a", {"b": "c=d"})),
    ],
)
def test_names_with_parameters_are_read(text: str, spec: Spec) -> None:
    assert Spec.parse(text) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' has no name before the colon; write it as name:key=value,key=value."),
        (":low=1", "':low=1' has no name before the colon; write it as name:key=value,key=value."),
        ("sine:low=1,low=2", "'sine:low=1,low=2' gives 'low' twice; give it once."),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Spec.parse(text)
    assert str(caught.value) == said


words = st.text("abcxyz019._-", min_size=1, max_size=6)


@given(words, st.dictionaries(words, words, max_size=4), st.lists(words, max_size=3))
def test_a_spec_reads_back_what_it_says(name: str, parameters: dict[str, str], positional: list[str]) -> None:
    spec = Spec(name, parameters, tuple(positional))
    assert Spec.parse(str(spec)) == spec
