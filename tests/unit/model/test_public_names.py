import penstock.model
from penstock import errors
from penstock.errors import UnknownName


def test_the_public_names_are_these() -> None:
    assert sorted(penstock.model.__all__) == [
        "ApplicationObservation",
        "Change",
        "Cluster",
        "Configuration",
        "Decision",
        "Expected",
        "Keep",
        "Latency",
        "Link",
        "Objectives",
        "Observation",
        "Operator",
        "OperatorObservation",
        "Parallelism",
        "ParallelismChange",
        "PlacementChange",
        "Reconfigure",
        "Role",
        "ScaleRequest",
        "Spec",
        "Stream",
        "Topology",
        "View",
        "Worker",
        "WorkerObservation",
        "WorkersChange",
        "diff",
        "largest",
        "smallest",
    ]
    assert all(hasattr(penstock.model, name) for name in penstock.model.__all__)


def test_every_error_is_a_penstock_error_and_what_the_user_got_wrong_is_a_usage_error() -> None:
    assert issubclass(errors.UsageError, errors.PenstockError)
    for mistake in (errors.InvalidModel, errors.UnknownName, errors.EnvironmentMissing, errors.JournalMismatch):
        assert issubclass(mistake, errors.UsageError)
    for trouble in (errors.BadObservation, errors.ActionFailed):
        assert issubclass(trouble, errors.PenstockError)
        assert not issubclass(trouble, errors.UsageError)


def test_an_unknown_name_comes_with_the_nearest_known_one() -> None:
    error = UnknownName.of("policy", "treshold", ["static", "threshold", "ds2"])
    assert str(error) == "There is no policy 'treshold'; did you mean 'threshold'?"


def test_an_unknown_name_like_no_other_comes_with_the_list_in_order() -> None:
    error = UnknownName.of("policy", "zzz", ["static", "threshold", "ds2"])
    assert str(error) == "There is no policy 'zzz'; choose one of: ds2, static, threshold."
