"""A page about a learned threshold: what each candidate was worth (ELYSIUM's Table 1 and Figure 6a)."""

from html import escape
from pathlib import Path

from penstock.evaluation.canvas import BLUE, ORANGE, head, plain_ticks, stack, styled, svg
from penstock.evaluation.page import cell, page, table
from penstock.profiling import LearnedThreshold


def write_threshold_page(title: str, learned: LearnedThreshold, path: Path) -> Path:
    """Write the page and return its path."""
    body = [
        f'<header><p class="eyebrow">Penstock threshold</p><h1>{escape(title)}</h1></header>',
        f'<p class="verdict">{learned.best:.2f} has the highest reward.</p>',
        f"<figure>{threshold_plot(learned)}</figure>",
        _table(learned),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(title, "\n".join(body)), encoding="utf-8")
    return path


def threshold_plot(learned: LearnedThreshold) -> str:
    """Reward and throughput degradation by threshold, as SVG."""
    with styled("threshold"):
        figure, (rewards, losses) = stack([1.8, 1.8])
        xs = [row.threshold for row in learned.table]
        rewards.plot(xs, [row.reward for row in learned.table], color=BLUE, marker="o")
        rewards.axvline(learned.best, color=BLUE, linestyle=":", linewidth=1.0)
        head(rewards, "Reward: threshold less throughput degradation")
        losses.plot(xs, [row.degradation for row in learned.table], color=ORANGE, marker="o")
        losses.set_ylim(bottom=0)
        head(losses, "Throughput degradation")
        losses.set_xlabel("threshold")
        for panel in (rewards, losses):
            plain_ticks(panel)
        return svg(figure)


def _table(learned: LearnedThreshold) -> str:
    rows = []
    for row in learned.table:
        texts = (f"{row.reward:.3f}", f"{row.degradation:.3f}", str(row.trials))
        kind = "number best" if row.threshold == learned.best else "number"
        cells = "".join(cell(text, kind) for text in texts)
        rows.append(f"<tr>{cell(f'{row.threshold:.2f}', 'name')}{cells}</tr>")
    headings = [("threshold", ""), ("reward", "number"), ("throughput degradation", "number"), ("trials", "number")]
    return table(headings, rows)
