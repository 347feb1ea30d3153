from penstock.analysis import centrality, descendants, link_load, nearness_to_sinks, nearness_to_sources
from penstock.testing import crossing

GRAPH = crossing().topology


def test_distances_are_those_to_the_nearest_end() -> None:
    assert nearness_to_sources(GRAPH) == {
        "left": 1.0,
        "right": 1.0,
        "clean": 0.5,
        "meet": 0.5,
        "store": 1 / 3,
        "alert": 1 / 3,
    }
    assert nearness_to_sinks(GRAPH) == {
        "store": 1.0,
        "alert": 1.0,
        "meet": 0.5,
        "clean": 1 / 3,
        "right": 1 / 3,
        "left": 0.25,
    }


def test_descendants_are_counted_once() -> None:
    assert descendants(GRAPH) == {"left": 4, "right": 3, "clean": 3, "meet": 2, "store": 0, "alert": 0}


def test_centrality_counts_streams() -> None:
    assert centrality(GRAPH) == {"left": 1, "right": 1, "clean": 2, "meet": 4, "store": 1, "alert": 1}


def test_link_load_is_what_comes_in_and_goes_out() -> None:
    load = link_load(GRAPH, {"meet": 10.0, "store": 20.0}, {"meet": {"store": 20.0, "alert": 0.5}})
    assert load == {"left": 0, "right": 0, "clean": 0, "meet": 30.5, "store": 20.0, "alert": 0}
