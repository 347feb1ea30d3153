"""The frame of a report: one HTML page that needs nothing but itself."""

from html import escape

_CSS = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6577; --line: #dde2ea; --grid: #e3e7ee; --paper: #ffffff;
  --card: #f6f8fb; --good: #00704f; --goodback: #e3f4ee; --bad: #b84a00; --badback: #fdf0e6; --accent: #0072b2;
  --blue: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #9aa5b8; --line: #333c4b; --grid: #2d3543;
  --paper: #151a22; --card: #1d242f; --good: #4fd0a5; --goodback: #163a2f; --bad: #ffa05c; --badback: #3a2615;
  --accent: #56b4e9; --blue: #3a9fdc; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 2.2rem 1.4rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h1, h2, .facts, .verdict { overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .8rem; padding-top: 1.4rem; border-top: 1px solid var(--line); }
.eyebrow { color: var(--accent); font-weight: 600; font-size: .8rem; letter-spacing: .06em; text-transform: uppercase;
  margin: 0 0 .3rem; }
.facts, .note { color: var(--soft); margin: 0; font-size: .93rem; }
.verdict { font-size: 1.15rem; line-height: 1.45; background: var(--card); border-left: 4px solid var(--accent);
  border-radius: 0 6px 6px 0; padding: .9rem 1.1rem; margin: 1.4rem 0; }
.scroll { overflow-x: auto; } .scroll + .note { margin-top: .5rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .82rem; border-bottom: 2px solid var(--line);
  padding: .4rem .6rem; vertical-align: bottom; }
td { border-bottom: 1px solid var(--line); padding: .45rem .6rem; vertical-align: top; overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; overflow-wrap: normal; }
th.wide { width: 21%; }
td.name { font-weight: 600; min-width: 7rem; }
td.best { color: var(--good); background: var(--goodback); font-weight: 700; }
tr.back td { background: var(--badback); }
.small { display: block; color: var(--soft); font-size: .85em; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.6rem, 1fr)); gap: .6rem; margin: 0 0 1.2rem; }
.tile { background: var(--card); border-radius: 6px; padding: .6rem .8rem; }
.tile b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tile span { color: var(--soft); font-size: .82rem; }
figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; display: block; }
figure svg text { font-family: system-ui, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif !important; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .8rem 0; }
summary { cursor: pointer; padding: .6rem .9rem; font-weight: 600; }
details > div { padding: 0 .9rem .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; font-size: .92rem; }
dt { font-weight: 600; } dd { margin: 0; color: var(--soft); }
@media print { main { max-width: none; padding: 0; } details > div { display: block; } }
"""


def page(title: str, body: str) -> str:
    """A whole page; `body` is HTML, `title` plain text."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


def cell(text: str, kind: str = "", small: str = "") -> str:
    """A table cell with escaped text, and a second, smaller line if there is one."""
    below = f'<span class="small">{escape(small)}</span>' if small else ""
    return f'<td class="{kind}">{escape(text)}{below}</td>' if kind else f"<td>{escape(text)}{below}</td>"


def table(headings: list[tuple[str, str]], rows: list[str]) -> str:
    """A table from headings (text and class) and finished rows."""
    head = "".join(f'<th class="{kind}">{escape(text)}</th>' for text, kind in headings)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def folded(summary: str, body: str, unfolded: bool) -> str:
    """A part of the page that can be folded away."""
    return f"<details{' open' if unfolded else ''}><summary>{escape(summary)}</summary><div>{body}</div></details>"
