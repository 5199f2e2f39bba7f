# SPDX-License-Identifier: BSD-3-Clause
"""A Report as one self-contained HTML page, for light and dark, desktop and telephone."""

import base64
import html
import io
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # pylint: disable=wrong-import-position
import matplotlib.ticker  # pylint: disable=wrong-import-position

from .. import look  # pylint: disable=wrong-import-position
from .figures import Figures, interval  # pylint: disable=wrong-import-position
from .script import SCRIPT  # pylint: disable=wrong-import-position

CSS = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #d8d8d8; --soft: #555; --bad: #b33a00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181d; --faint: #3a3f4a; --soft: #a9afba; --bad: #ff9a5c; } }
@media (prefers-reduced-motion: no-preference) { :root { scroll-behavior: smooth } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
p { margin: .3rem 0; max-width: 46rem; } .soft { color: var(--soft); } .part { color: var(--bad); font-size: .85rem; }
.bad { border-left: 5px solid var(--bad); padding: .2rem 0 .2rem .8rem; margin: 1rem 0; }
.bad strong { color: var(--bad); }
.answers ol { padding-left: 1.4rem; max-width: 56rem; } .answers li { margin: .5rem 0; } code { overflow-wrap: anywhere; font-size: .85rem; }
summary { color: var(--soft); cursor: pointer; font-size: .85rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .8rem; margin: 1rem 0; }
.facts div { border-top: 1px solid var(--faint); padding-top: .4rem; }
.facts b { display: block; font-size: 1.35rem; font-weight: 600; line-height: 1.3; }
.facts small { color: var(--bad); }
.pictures { columns: 2 30rem; column-gap: 1.4rem; }
figure { margin: 0 0 1.4rem; break-inside: avoid; } img { width: 100%; height: auto; display: block; }
/* A shadow at the right, where a table goes on; the paper covers it at the table's end. */
.wide { overflow-x: auto; background: linear-gradient(to left, var(--paper) 1.5rem, transparent) right / 3rem 100% no-repeat local,
  linear-gradient(to left, var(--faint), transparent) right / .8rem 100% no-repeat scroll; }
table { border-spacing: 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem .25rem 0; text-align: right; border-bottom: 1px solid var(--faint); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child { text-align: left; }
.t2 :is(th, td):nth-child(2), .t3 :is(th, td):nth-child(-n+3) { text-align: left; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-decoration: underline dotted; }
.tools { position: sticky; top: 0; z-index: 3; background: var(--paper); padding: .4rem 0; display: flex; gap: 1rem; }
.tools input { font: inherit; flex: 0 1 22rem; min-width: 8rem; }
[aria-sort=descending]::after { content: " ▾"; } [aria-sort=ascending]::after { content: " ▴"; }
figcaption { font-weight: 600; } .frame { position: relative; display: grid; grid-template-columns: 4.6rem 1fr; font-size: .75rem; }
.frame svg { width: 100%; height: 14rem; border-left: 1px solid var(--faint); border-bottom: 1px solid var(--faint); }
.time svg { cursor: crosshair; touch-action: pan-y; } .y, .x { position: relative; } .x { grid-column: 2; height: 1.3rem; }
.y span { position: absolute; right: .4rem; transform: translateY(-50%); white-space: nowrap; }
.x span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.matrix { grid-template-columns: 8rem 1fr; } .matrix svg { height: 22rem; } .matrix .x { height: 8rem; }
.matrix .x span { writing-mode: vertical-rl; } .few svg { height: 10rem; } .few .x { height: 1.6rem; } .few .x span { writing-mode: horizontal-tb; }
.matrix .y { grid-area: 1 / 1; } .matrix svg, .cells { grid-area: 1 / 2; } .cells { position: relative; pointer-events: none; } .cells span { position: absolute; transform: translate(-50%, -50%); font-size: .8rem;
  color: #fff; background: #0009; padding: 0 .3rem; white-space: nowrap; } .line { fill: none; stroke-width: 1.6; vector-effect: non-scaling-stroke; }
.dashed { stroke-dasharray: 5 3; } .lost { fill: var(--faint); opacity: .8; } image { image-rendering: pixelated; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem .9rem; margin: 0 0 0 4.6rem; padding: 0; font-size: .75rem; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; }
.tip { position: absolute; z-index: 4; background: var(--paper); border: 1px solid var(--soft); padding: .2rem .5rem; font-size: .8rem;
  pointer-events: none; } .mark { position: absolute; top: 0; height: 14rem; background: var(--soft); opacity: .3; pointer-events: none; }
[hidden] { display: none; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
@media (max-width: 40rem) { table { font-size: .85rem; } th, td { padding-right: .6rem; }
  td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 6.5rem; max-width: 45vw; } }
"""


def draw(function, dark, narrow, form):
    """One picture as bytes."""
    with matplotlib.rc_context(look.style(dark, 9.5)):
        figure, ax = plt.subplots(figsize=(4.0, 3.7) if narrow else (6.6, 3.9), constrained_layout=True)
        function(ax)
        title = ax.get_title(loc="left")
        ax.set_title("", loc="left")
        figure.suptitle("\n".join(textwrap.wrap(title, 40 if narrow else 70)), x=0.02, ha="left", fontsize=10.5,
                        fontweight="bold")
        rows = len(ax.get_yticks())
        if isinstance(ax.yaxis.get_major_locator(), matplotlib.ticker.FixedLocator) and rows > 12:
            figure.set_figheight(figure.get_figheight() * rows / 12)
        out = io.BytesIO()
        figure.savefig(out, format=form, dpi=110, metadata={"Date": None} if form == "svg" else None)
        plt.close(figure)
    return out.getvalue()


def _recoloured(svg):
    """A picture for dark paper of one for light: ink, paper and faint lines change, all else stays."""
    light, dark = look.style(False), look.style(True)
    for key in ("text.color", "axes.facecolor", "grid.color"):
        svg = svg.replace(light[key].encode(), dark[key].encode())
    return svg


def _figure(picture, figures):
    if (own := figures.picture(picture)) is not None and picture.kind:
        return f"<figure>{own}{_notes(picture.notes)}</figure>"
    drawn = {narrow: draw(picture.draw, False, narrow, "svg") for narrow in (False, True)}

    def data(dark, narrow):
        svg = _recoloured(drawn[narrow]) if dark else drawn[narrow]
        return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()

    dark, phone = "(prefers-color-scheme: dark)", "(max-width: 40rem)"
    return (f'<figure><picture><source media="{dark} and {phone}" srcset="{data(True, True)}">'
            f'<source media="{phone}" srcset="{data(False, True)}">'
            f'<source media="{dark}" srcset="{data(True, False)}">'
            f'<img src="{data(False, False)}" alt="{html.escape(picture.text)}"></picture>{_notes(picture.notes)}</figure>')


def _notes(notes):
    return f'<p class="part">{html.escape("; ".join(notes))}</p>' if notes else ""


def _table(table):
    def lines(rows, tag="td"):
        return "".join(f"<tr>{''.join(f'<{tag}>{html.escape(str(cell))}</{tag}>' for cell in row)}</tr>" for row in rows)
    more = f"<tbody hidden>{lines(table.more)}</tbody>" if table.more else ""
    return (f'<h2 id="{table.name}">{html.escape(table.title)}</h2>{_notes(table.notes)}<div class="wide"><table class="t{table.text_columns}" '
            f'data-of="{table.name}"><thead>{lines([table.head], "th")}</thead><tbody>{lines(table.rows)}</tbody>{more}</table></div>')


def _answers(answers, begin):
    def finding(sentence, evidence, trace, times):
        when, colon, rest = sentence.partition(": ")
        how = f"<p>Shown by <code>{html.escape(evidence)}</code></p>" + \
            (f"<p>A trace of its begin: <code>{html.escape(trace)}</code></p>" if trace else "")
        low, high = interval(begin, times)
        return f'<li data-from="{low}" data-to="{high}"><b>' + f"{html.escape(when)}{colon}</b>{html.escape(rest)}<details><summary>evidence</summary>{how}</details></li>"
    found = f"<ol>{''.join(finding(*row, times) for row, times in zip(answers.rows, answers.frame.itertuples()))}</ol>" if answers.rows else ""
    return f'<section class="answers"><h2>{html.escape(answers.title)}</h2>{found}' + \
        "".join(f'<p class="soft">{html.escape(text)}</p>' for text in answers.rest) + "</section>"


def _announced(pictures, step):
    for number, picture in enumerate(pictures, 1):
        step(f"draws picture {number} of {len(pictures)}")
        yield picture


def page(report, step=lambda text: None):
    """The page as a text. `step` gets what is being drawn."""
    notice = f'<p class="soft">{html.escape(report.whole)}</p>' if not report.notes else \
        '<div class="bad" role="alert"><strong>Not everything is here.</strong>' \
        + "".join(f"<p>{html.escape(text)}</p>" for text in report.notes) + "</div>"
    remark = f'<p class="soft">{html.escape(report.remark)}</p>' if report.remark else ""
    facts = "".join(f"<div>{html.escape(what)}<b>{html.escape(number)}</b><small>{html.escape(note)}</small></div>"
                    for what, number, note in report.facts)
    figures = Figures(*report.times)
    pictures = ["<h2>Pictures</h2>", '<div class="pictures">', *(_figure(one, figures) for one in _announced(report.pictures, step)), "</div>"] \
        if report.pictures else []
    parts = [f"<h1>{html.escape(report.title)}</h1>", f'<p class="soft">{html.escape(report.subtitle)}</p>', remark, notice,
             _answers(report.answers, figures.begin) if report.answers else "", *map(_table, report.before), f'<div class="facts">{facts}</div>', *pictures, *map(_table, report.tables),
             f'<p class="soft">{html.escape(report.foot)}</p>']
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
            f'initial-scale=1"><title>{html.escape(report.title)}</title><style>{CSS}</style></head>'
            f'<body data-begin="{figures.begin / 1e9:.3f}" data-span="{figures.span:.9g}">\n'
            + "\n".join(parts) + f"\n<script>{SCRIPT}</script></body></html>\n")
