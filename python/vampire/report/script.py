# SPDX-License-Identifier: BSD-3-Clause
"""The script of the report's page. Without it the page has the same text, tables and pictures."""

SCRIPT = r"""
'use strict';
const all = (what, where = document) => [...where.querySelectorAll(what)];
const make = (tag, props, ...inside) => { const one = Object.assign(document.createElement(tag), props); one.append(...inside); return one; };
const UNITS = {ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12, d: 8.64e13, B: 1, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30,
  TiB: 2 ** 40, PiB: 2 ** 50, k: 1e3, M: 1e6, G: 1e9, T: 1e12, '%': 1, '': 1};
const BEGIN = +document.body.dataset.begin, SPAN = +document.body.dataset.span;

/* What a cell is worth: a number with its unit, else NaN. */
function worth(text) {
  const found = /^[<×+ ]*(-?[\d,.]+) ?([^\d\s/]*)/.exec(text);
  return found && found[2] in UNITS ? parseFloat(found[1].replaceAll(',', '')) * UNITS[found[2]] : NaN;
}
const compare = (a, b) => {
  const x = worth(a), y = worth(b);
  return x === x && y === y ? x - y : (x === x) - (y === y) || a.localeCompare(b, undefined, {numeric: true});
};

/* ---- tables: sorted by a click on a heading, searched, the rest of their rows on demand; how many are not on the page */
const OTHERS = /^([\d,]+) others?$/, whole_number = number => number.toLocaleString('en');
const search = make('input', {type: 'search', placeholder: 'search all tables'});
search.setAttribute('aria-label', 'search all tables');
const tables = all('table').map(table => {
  const body = table.tBodies[0], more = table.tBodies[1], own = [...body.rows], state = {table, column: -1, down: true, open: false};
  const rest = more && own.pop(), rows = [...own, ...(more ? more.rows : [])];
  if (more) more.remove();
  const absent = more ? parseInt(OTHERS.exec(rest.cells[0].textContent)[1].replaceAll(',', '')) + own.length - rows.length : 0;
  const button = more && make('button', {type: 'button', className: 'more', onclick: () => { state.open = !state.open; state.show(); }});
  if (button) table.parentNode.after(button, ...(absent ? [` ${whole_number(absent)} rows are not on this page`] : []));
  state.show = () => {
    const words = search.value.trim().toLowerCase(), sorted = [...rows];
    const cell = row => row.cells[state.column].textContent;
    if (state.column >= 0) sorted.sort((a, b) => compare(cell(a), cell(b)) * (state.down ? -1 : 1));
    const fits = sorted.filter(row => !words || row.textContent.toLowerCase().includes(words));
    body.replaceChildren(...(words || state.open || !more ? fits : fits.slice(0, own.length)), ...(rest && !words && !state.open ? [rest] : []));
    if (button) { button.textContent = state.open ? 'fewer rows' : `${absent ? 'the first' : 'all'} ${whole_number(rows.length)} rows`; button.hidden = !!words; }
  };
  all('th', table).forEach((head, column) => {
    const sort = make('button', {type: 'button', textContent: head.textContent, onclick: () => {
      state.down = state.column === column ? !state.down : true;
      state.column = column;
      all('th', table).forEach(one => one.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
      state.show();
    }});
    head.replaceChildren(sort);
  });
  state.show();
  return state;
});
const find = words => { search.value = words; tables.forEach(one => one.show()); };
search.oninput = () => tables.forEach(one => one.show());
/* From a model to its ranks. */
all('table[data-of=models] tbody td:first-child').forEach(cell => {
  const model = cell.textContent;
  if (OTHERS.test(model)) return;
  cell.replaceChildren(make('button', {type: 'button', textContent: model, title: 'its ranks', onclick: () => {
    find(model);
    document.getElementById('components')?.scrollIntoView();
  }}));
});

/* ---- pictures over time: one axis for all */
let view = [0, SPAN];
const plots = all('figure .time').map(frame => ({frame, svg: frame.querySelector('svg'), axis: frame.querySelector('.x'),
  data: JSON.parse(frame.parentNode.querySelector('script').textContent)}));
const whole = make('button', {type: 'button', textContent: 'whole time', hidden: true, onclick: () => zoom(0, SPAN)});
const clock = (second, digits) => new Date((BEGIN + second) * 1000).toISOString().slice(11, digits);
function zoom(low, high) {
  low = Math.max(0, low); high = Math.min(SPAN, high);
  if (!(high - low > SPAN * 1e-4)) return;
  view = [low, high];
  whole.hidden = low === 0 && high === SPAN;
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const step = steps.find(one => (high - low) / one <= 6) || 86400 * Math.ceil((high - low) / 6 / 86400), ticks = [];
  for (let at = Math.ceil((BEGIN + low) / step) * step; at <= BEGIN + high; at += step) ticks.push(at - BEGIN);
  for (const plot of plots) {
    plot.svg.setAttribute('viewBox', `${low} 0 ${high - low} 100`);
    plot.axis.replaceChildren(...ticks.map(at => {
      const label = make('span', {textContent: clock(at, step < 60 ? 19 : 16)});
      label.style.left = `${100 * (at - low) / (high - low)}%`;
      return label;
    }));
  }
}
function shown(value, units) {
  if (value === null) return 'not known';
  const second = units.endsWith('/s') ? ' a second' : '', base = units.replace('/s', '');
  const scale = base === 'ns' ? [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]]
    : base.startsWith('byte') ? [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 1024], ['B', 1]] : [['M', 1e6], ['k', 1e3], ['', 1]];
  const [name, size] = scale.find(one => Math.abs(value) >= one[1]) || scale[scale.length - 1];
  return `${+(value / size).toPrecision(3)} ${name}`.trim() + second;
}
const tip = make('div', {className: 'tip', hidden: true});
const second = (plot, event) => {
  const box = plot.svg.getBoundingClientRect();
  return view[0] + (view[1] - view[0]) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
};
for (const plot of plots) {
  let from = null;
  const mark = make('div', {className: 'mark', hidden: true});
  plot.frame.append(mark);
  plot.svg.onpointerdown = event => { from = second(plot, event); };
  plot.svg.onpointerup = event => {
    const to = second(plot, event), width = Math.abs(to - from);
    if (from !== null && width > (view[1] - view[0]) / 50) zoom(Math.min(from, to), Math.max(from, to));
    from = null;
  };
  plot.svg.ondblclick = () => zoom(0, SPAN);
  plot.svg.onpointermove = event => {
    const at = second(plot, event), n = plot.data.x.findIndex((edge, k) => edge <= at && at < plot.data.x[k + 1]);
    mark.hidden = from === null;
    if (from !== null) {
      const place = one => plot.frame.querySelector('.y').offsetWidth + plot.svg.clientWidth * (one - view[0]) / (view[1] - view[0]);
      mark.style.left = `${Math.min(place(from), place(at))}px`;
      mark.style.width = `${Math.abs(place(at) - place(from))}px`;
    }
    tip.hidden = n < 0;
    if (n < 0) return;
    tip.replaceChildren(make('b', {textContent: `${clock(plot.data.x[n], 19)} to ${clock(plot.data.x[n + 1], 19)}`}),
      ...plot.data.rows.map(row => make('div', {textContent: `${row[0]}: ${shown(row[n + 1], plot.data.units)}`})));
    tip.style.left = `${Math.max(0, Math.min(event.pageX + 12, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.pageY + 14}px`;
  };
  plot.svg.onpointerleave = () => { tip.hidden = true; mark.hidden = true; from = null; };
}
/* From a finding to its time. */
all('.answers li[data-from]').forEach(item => {
  const low = +item.dataset.from, high = +item.dataset.to, room = Math.max((high - low) / 5, SPAN / 200);
  if (plots.length) item.append(make('button', {type: 'button', textContent: 'show in the pictures', onclick: () => {
    zoom(low - room, high + room);
    plots[0].frame.scrollIntoView({block: 'center'});
  }}));
});
document.body.append(tip);
document.querySelector('h1').after(make('div', {className: 'tools'}, search, whole));
"""
