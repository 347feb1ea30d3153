"""How figures are written for people: short, with a unit, and a dash for what is not known."""

UNKNOWN = "-"


def plain(value: float | None) -> str:
    """About three significant digits: 0.81, 12.3, 2,310, 1.2 M."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g} M"
    if size >= 100 or value == round(value):
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.095 else f"{value:.2g}"


def seconds(value: float | None) -> str:
    """A length of time in the unit that suits it: 85 ms, 2.4 s, 12 min, 3.2 h."""
    if value is None:
        return UNKNOWN
    if 0 < value < 1:
        return f"{value * 1000:.0f} ms" if value >= 0.001 else f"{value * 1e6:.0f} µs"
    if value < 600:
        return f"{value:.1f} s" if value < 10 and value != round(value) else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 3 * 3600 else f"{value / 3600:.1f} h"


def ratio(value: float | None) -> str:
    """A small number without a unit, to three decimals."""
    return UNKNOWN if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    """A value that is a percentage already."""
    return UNKNOWN if value is None else f"{value:.0f} %"


def clock(at_s: float) -> str:
    """A point on the run's clock: 0:45, 12:30, 1:02:05."""
    whole = round(at_s)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def counted(number: int, thing: str) -> str:
    """`1 reconfiguration`, `3 reconfigurations`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
