const SCALES = {mn: 1e6, bn: 1e9, kW: 1e3, MW: 1e6, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, ms: 1e-3, us: 1e-6};
const NUMBER = /^([-+]?[0-9][0-9,]*(?:[.][0-9]+)?(?:e[-+]?[0-9]+)?)(?: ([a-zA-Z]+)\b)?/;

// The text of a cell without the link to its note, and without what a list adds to it.
const textOf = cell => [...(cell ? cell.childNodes : [])]
  .map(part => part.nodeName === 'SUP' || part.className === 'beside' ? '' : part.textContent).join('').trim();
const numberOf = text => {
  const match = NUMBER.exec(text);
  return match ? parseFloat(match[1].replace(/,/g, '')) * (SCALES[match[2]] || 1) : NaN;
};

// Numbers sort before texts, whichever way the column is sorted.
const sortBy = head => {
  const up = head.getAttribute('aria-sort') !== 'ascending';
  const table = head.closest('table'), body = table.tBodies[0];
  table.querySelectorAll('thead th').forEach(other => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const keyed = [...body.rows].map(row => {
    const text = textOf(row.cells[head.cellIndex]);
    return {row, text, number: numberOf(text)};
  });
  keyed.sort((a, b) => {
    if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) ? 1 : -1;
    const order = isNaN(a.number) ? a.text.localeCompare(b.text) : a.number - b.number;
    return up ? order : -order;
  }).forEach(({row}) => body.append(row));
};
for (const head of document.querySelectorAll('thead th')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.append(...head.childNodes);
  button.addEventListener('click', () => sortBy(head));
  head.append(button);
}

// Browsers break names such as superpod-h100-4su, and dates, after a hyphen, and part a number from its unit, or from a
// short noun: these stay whole. Longer paths may break, but only before a name of theirs.
const AMOUNT = String.raw`(?<![\p{L}\d.,])[(±+-]*\d(?:[\d.,]*\d)?`;
const UNIT = String.raw` (?:(?:mn|bn|t) )?(?:%|[\p{L}/][\p{L}\d/²³-]{0,8})(?![\p{L}\d/-])`;
const WHOLE = new RegExp(`(${AMOUNT}${UNIT}|\\b(?:GPU-hour|[A-Z]{3}) ${AMOUNT}(?:${UNIT})?|\\S+-\\S+|\\S{20,})`, 'u');
const LEFT_ALONE = 'svg, pre, script, .whole, .path, details:not([open]) > :not(summary)';
const MOST = 28;
const wrapped = part => {
  const name = document.createElement('span'), long = part.length > MOST;
  const pieces = long ? part.split(/(?<=[._/])(?=[A-Za-z])/) : [part];
  name.className = long ? 'path' : 'whole';
  name.append(...pieces.length > 1 ? pieces.flatMap(piece => [document.createElement('wbr'), wrapped(piece)]) : pieces);
  return name;
};
const keepWhole = root => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (WHOLE.test(text.data) && !text.parentElement.closest(LEFT_ALONE)) texts.push(text);
  }
  for (const text of texts) {
    text.replaceWith(...text.data.split(WHOLE).map((part, place) => place % 2 ? wrapped(part) : part));
  }
};

// On a phone, a table that is wider than the screen is shown as a list. A cell without a heading stands beside the one
// before it, and what follows a number that heads a row stands beside that.
const beside = (cell, before, words) => {
  const added = document.createElement('span');
  added.className = 'beside';
  added.textContent = words;
  cell.insertBefore(added, before);
};
const stack = region => {
  const heads = [...region.querySelectorAll('thead :is(th, td)')].map(textOf);
  for (const row of region.querySelector('tbody').rows) {
    const [first, ...cells] = row.cells;
    if (first.tagName === 'TH' && /^[0-9,]+$/.test(textOf(first))) {
      const name = textOf(cells[0]);
      if (heads[0]) beside(first, first.firstChild, `${heads[0]} `);
      if (/^[^0-9]/.test(name)) {
        beside(first, first.querySelector('sup'), `: ${name}`);
        cells.shift().classList.add('joined');
      }
    }
    for (const cell of cells) {
      const label = heads[cell.cellIndex], last = cell.previousElementSibling;
      if (label || !heads.length || last === first || !textOf(last) || !textOf(cell)) cell.dataset.column = label || '';
      else {
        beside(last, null, `, ${textOf(cell)}`);
        cell.classList.add('joined');
      }
    }
  }
  region.classList.add('stacked');
};
const narrow = matchMedia('(max-width: 600px)');
const settle = root => {
  keepWhole(root);
  if (!narrow.matches) return;
  const regions = [...root.querySelectorAll('.scroll:not(.stacked)')];
  regions.filter(region => region.scrollWidth > region.clientWidth).forEach(stack);
  keepWhole(root);
};
addEventListener('resize', () => settle(document.body));
document.addEventListener('toggle', event => { if (event.target.open) settle(event.target); }, true);

const unfold = () => {
  const note = /^#note-[0-9]+$/.test(location.hash) && document.querySelector(location.hash);
  if (!note) return;
  note.closest('details').open = true;
  note.scrollIntoView();
};
addEventListener('hashchange', unfold);
// Paper is laid out before the folds tell that they are open.
addEventListener('beforeprint', () => {
  document.querySelectorAll('.part').forEach(fold => { fold.open = true; });
  keepWhole(document.body);
});
settle(document.body);
unfold();
