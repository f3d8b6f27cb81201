"""Style and script of a page, both inline, so that the page needs no network."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ink:#1c1f24;--soft:#555c66;--paper:#fff;--card:#f6f7f9;--line:#d5d9e0;--mark:#0b5fa5}
@media(prefers-color-scheme:dark){
:root{--ink:#eceff4;--soft:#b4bac4;--paper:#16181d;--card:#20242c;--line:#3a404b;--mark:#7cb8f0}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1100px;padding:1.2rem 1rem 4rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.4rem 0}
h2{font-size:1.15rem;margin:2rem 0 .5rem}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.9rem}
a{color:var(--mark)}
:is(a,button,summary,.scroll,.picture):focus-visible{outline:3px solid var(--mark);outline-offset:2px}
.verdict{background:var(--card);border-left:4px solid var(--mark);padding:.7rem 1rem;border-radius:4px}
.verdict p{margin:.3rem 0}
.soft,figcaption,footer{color:var(--soft);font-size:.9rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;margin:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.22rem .8rem .22rem 0;border-bottom:1px solid var(--line);
font-variant-numeric:tabular-nums}
th{overflow-wrap:break-word}
th button{all:unset;cursor:pointer;font-weight:600}
th[aria-sort=ascending] button::after{content:" \\25B2"}
th[aria-sort=descending] button::after{content:" \\25BC"}
figure{margin:1rem 0 1.6rem;break-inside:avoid}
figure h3{font-size:1rem;margin:0 0 .3rem}
figure svg,figure img{max-width:100%;height:auto}
figure svg{overflow:visible}
#charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,430px),1fr));gap:0 2rem}
#charts h2{grid-column:1/-1}
details{margin:.5rem 0}
code{display:inline-block;font-size:.92em;background:var(--card)}
summary{cursor:pointer}
pre{background:var(--card);padding:.8rem;overflow-x:auto;font-size:.85rem;border-radius:4px}
.notes p{margin:.15rem 0 .6rem}
sup{line-height:0}
sup a{text-decoration:none;padding:0 .15rem}
td[title]{text-decoration:underline dotted var(--soft);text-underline-offset:3px}
@media print{:root{--ink:#000;--soft:#333;--paper:#fff;--card:#fff;--line:#999;--mark:#000}
nav,th button::after{display:none}
body{max-width:none;font-size:11px}h2{break-after:avoid}.scroll{overflow:visible}}
@media(max-width:600px){body{font-size:15px;padding:.8rem .6rem 3rem}th,td{padding-right:.5rem}
.picture{overflow-x:auto}figure img{max-width:none}}
"""

SCRIPT = """
for (const table of document.querySelectorAll('table')) {
  const heads = [...table.querySelectorAll('thead th')];
  heads.forEach((head, column) => {
    const words = head.textContent;
    if (!words) return;
    head.textContent = '';
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = words;
    head.append(button);
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      heads.forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const value = row => {
        const parts = row.cells[column] ? [...row.cells[column].childNodes] : [];
        return parts.map(part => part.nodeName === 'SUP' ? '' : part.textContent).join('').trim();
      };
      const scales = {mn: 1e6, bn: 1e9, kW: 1e3, MW: 1e6, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, ms: 1e-3, us: 1e-6};
      const number = text => {
        const found = /^([-+]?[0-9][0-9,]*(?:[.][0-9]+)?(?:e[-+]?[0-9]+)?)(?: ([a-zA-Z]+)\\b)?/.exec(text);
        return found ? parseFloat(found[1].replace(/,/g, '')) * (scales[found[2]] || 1) : NaN;
      };
      [...body.rows].sort((a, b) => {
        const x = value(a), y = value(b), p = number(x), q = number(y);
        if (isNaN(p) !== isNaN(q)) return isNaN(p) ? 1 : -1;
        const order = isNaN(p) ? x.localeCompare(y) : p - q;
        return up ? order : -order;
      }).forEach(row => body.append(row));
    });
  });
}
const unfold = () => {
  const note = /^#note-[0-9]+$/.test(location.hash) && document.querySelector(location.hash);
  if (!note) return;
  note.closest('details').open = true;
  note.scrollIntoView();
};
addEventListener('hashchange', unfold);
unfold();
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(item => { item.open = true; }));
"""
