"""Names of persons, places and organisations, all made up or common: what made-up news speak of, and a gazetteer."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _words(
    """
    Ada Alan Amira Boris Carla Chen Clara Dario Edith Elena Emil Farah Felix Greta Hanna Hugo Ines Ivan Jonas Kofi
    Laila Leon Lucia Marco Maria Mina Nadia Niels Nora Omar Oscar Paula Pedro Petra Ravi Rosa Samir Sofia Tomas Yuki
    """
)
"""First names: whoever has one, and a surname behind it, is a person."""

_SURNAMES = _words(
    """
    Abbott Barros Castell Dvorak Eklund Farrow Gruber Haddad Ibsen Jansen Kowal Lindqvist Moreau Novak Okafor
    Pereira Quinn Rossi Santos Tanaka Ulrich Varga Weber Ximenes Yilmaz Zeman
    """
)

PLACES = (
    *("London", "Paris", "Berlin", "Madrid", "Rome", "Vienna", "Lisbon", "Dublin", "Oslo", "Stockholm", "Helsinki"),
    *("Athens", "Cairo", "Nairobi", "Lagos", "Tokyo", "Osaka", "Delhi", "Mumbai", "Sydney", "Toronto", "Chicago"),
    *("New York", "Los Angeles", "Mexico City", "Buenos Aires", "Santiago", "Lima", "Hong Kong", "Cape Town"),
    *("Canada", "Brazil", "Chile", "India", "Japan", "Kenya", "Norway", "Spain", "South Africa", "New Zealand"),
)
"""Cities and countries."""

ORGANISATION_ENDINGS = ("Bank", "Corporation", "Foundation", "Group", "Institute", "University", "Union", "Airlines")
"""What the name of an organisation ends with, behind a capitalised word."""

_ORGANISATIONS = tuple(
    f"{first} {ending}"
    for first, ending in zip(
        ("Northern", "Meridian", "Harbour", "Summit", "Atlas", "Riverside", "Continental", "Aurora") * 2,
        ORGANISATION_ENDINGS + ORGANISATION_ENDINGS[3:] + ORGANISATION_ENDINGS[:3],
        strict=True,
    )
)
_PERSONS = tuple(f"{first} {_SURNAMES[7 * index % len(_SURNAMES)]}" for index, first in enumerate(FIRST_NAMES))

ALL_NAMES = tuple(
    name
    for index in range(max(len(_PERSONS), len(PLACES), len(_ORGANISATIONS)))
    for group in (_PERSONS, PLACES, _ORGANISATIONS)
    for name in group[index : index + 1]
)
"""Persons, places and organisations by turns."""
