import pytest

from penstock.errors import UsageError
from penstock.model import ScaleRequest
from penstock.service.scale_requests import parse_scale_request, parse_scale_requests


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("60:out:1", ScaleRequest(60.0, 1)),
        ("180:in:2", ScaleRequest(180.0, -2)),
        (" 7.5 : out : 12 ", ScaleRequest(7.5, 12)),
        ("0:in:1", ScaleRequest(0.0, -1)),
    ],
)
def test_requests_are_read(text: str, request_: ScaleRequest) -> None:
    assert parse_scale_request(text) == request_


@pytest.mark.parametrize(
    "text",
    ["", "60", "60:out", "60:up:1", "out:60:1", "60:out:0", "60:out:-1", "-1:out:1", "nan:out:1", "inf:in:1", "1:in:x"],
)
def test_what_is_no_request_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no request; write it as 60:out:1"):
        parse_scale_request(text)


def test_several_requests_come_in_order_of_time() -> None:
    assert parse_scale_requests(["90:in:1", "30:out:2"]) == (ScaleRequest(30.0, 2), ScaleRequest(90.0, -1))
    assert parse_scale_requests([]) == ()
