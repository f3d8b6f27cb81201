const SCALES = {mn: 1e6, bn: 1e9, kW: 1e3, MW: 1e6, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, ms: 1e-3, us: 1e-6};
const NUMBER = /^([-+]?[0-9][0-9,]*(?:[.][0-9]+)?(?:e[-+]?[0-9]+)?)(?: ([a-zA-Z]+)\b)?/;

// The text of a cell without the link to its note.
const textOf = cell => [...(cell ? cell.childNodes : [])]
  .map(part => part.nodeName === 'SUP' ? '' : part.textContent).join('').trim();
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

// Browsers break names such as superpod-h100-4su, and dates, after a hyphen, and part a number from its unit: these stay
// whole. Longer paths may break, but only before a name of theirs.
const WHOLE = /(\S+-\S+|\S{20,}|[0-9][0-9.,]* (?:%|mn|bn|kW|MW)(?!\w))/;
const LEFT_ALONE = 'svg, pre, script, .whole, .path, details:not([open]) > :not(summary)';
const MOST = 28;
const wrapped = part => {
  const name = document.createElement('span');
  name.className = part.length > MOST ? 'path' : 'whole';
  const pieces = part.length > MOST ? part.split(/(?<=[._/])(?=[A-Za-z])/) : [part];
  pieces.forEach((piece, place) => name.append(...(place ? [document.createElement('wbr')] : []), piece));
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

// On a phone, a table that is wider than the screen is shown as a list.
const stack = region => {
  const heads = [...region.querySelectorAll('thead :is(th, td)')].map(textOf);
  for (const cell of region.querySelectorAll('tbody td')) cell.dataset.column = heads[cell.cellIndex] || '';
  region.classList.add('stacked');
};
const narrow = matchMedia('(max-width: 600px)');
const settle = root => {
  keepWhole(root);
  if (!narrow.matches) return;
  const regions = [...root.querySelectorAll('.scroll:not(.stacked)')];
  regions.filter(region => region.scrollWidth > region.clientWidth).forEach(stack);
};
narrow.addEventListener('change', () => settle(document.body));
document.addEventListener('toggle', event => { if (event.target.open) settle(event.target); }, true);

const unfold = () => {
  const note = /^#note-[0-9]+$/.test(location.hash) && document.querySelector(location.hash);
  if (!note) return;
  note.closest('details').open = true;
  note.scrollIntoView();
};
addEventListener('hashchange', unfold);
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(fold => { fold.open = true; }));
settle(document.body);
unfold();
