import { elementOf } from './page-elements.ts';
import { updateHints } from './scroll-hints.ts';

/** How a reader has sorted a table: by which column, and which way. */
interface Order {
  readonly column: number;
  readonly isDescending: boolean;
}

const orders = new WeakMap<HTMLTableElement, Order>();
const compare = new Intl.Collator(undefined, { numeric: true }).compare;

/** Lets the reader look for rows, and sort tables by the columns whose heads say `data-sort`. */
export function arrangeRows(): void {
  const filter = elementOf('filter', HTMLInputElement);
  elementOf('filter-field', HTMLElement).hidden = false;
  filter.addEventListener('input', rearrangeRows);
  elementOf('main', HTMLElement).addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button.sort') : null;
    const head = button?.closest('th');
    const table = head?.closest('table');
    if (!(head instanceof HTMLTableCellElement) || !(table instanceof HTMLTableElement)) return;
    const was = orders.get(table);
    const isDescending = was?.column === head.cellIndex && !was.isDescending;
    orders.set(table, { column: head.cellIndex, isDescending });
    rearrangeRows();
  });
  rearrangeRows();
}

/** After an update: the router writes all rows, in its own order. */
export function rearrangeRows(): void {
  for (const table of document.querySelectorAll('table')) sort(table);
  const wanted = elementOf('filter', HTMLInputElement).value.trim().toLowerCase();
  let [shown, all] = [0, 0];
  for (const row of document.querySelectorAll('main tbody tr')) {
    if (!(row instanceof HTMLTableRowElement) || isGroupHead(row)) continue;
    const group = row.closest('tbody')?.dataset['key'] ?? '';
    const isShown = wanted === '' || `${group} ${row.textContent}`.toLowerCase().includes(wanted);
    if (row.hidden === isShown) row.hidden = !isShown;
    all += 1;
    if (!isShown) continue;
    shown += 1;
    // What is looked for is not to stay folded away.
    const fold = wanted === '' ? null : row.closest('details');
    if (fold !== null && !fold.open) fold.open = true;
  }
  for (const row of document.querySelectorAll('main tbody tr')) {
    if (!(row instanceof HTMLTableRowElement) || !isGroupHead(row)) continue;
    const others = [...(row.closest('tbody')?.rows ?? [])].filter((other) => other !== row);
    row.hidden = others.every(({ hidden }) => hidden);
  }
  for (const table of document.querySelectorAll<HTMLTableElement>('main table')) {
    const isEmpty =
      wanted !== '' && [...table.tBodies].every(({ rows }) => [...rows].every(({ hidden }) => hidden));
    table.toggleAttribute('data-no-match', isEmpty);
  }
  updateHints();
  const found = elementOf('filter-found', HTMLElement);
  const text = wanted === '' ? '' : `${shown} of ${all} rows`;
  if (found.textContent !== text) found.textContent = text;
}

function isGroupHead(row: HTMLTableRowElement): boolean {
  return row.querySelector('th[scope=rowgroup]') !== null;
}

function sort(table: HTMLTableElement): void {
  for (const head of table.querySelectorAll('thead th[data-sort]')) putButton(head);
  const order = orders.get(table);
  if (order === undefined) return;
  const { column, isDescending } = order;
  for (const head of table.tHead?.rows[0]?.cells ?? []) {
    if (head.cellIndex === column) head.setAttribute('aria-sort', isDescending ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  }
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !isGroupHead(row));
    const sorted = rows.toSorted((left, right) => {
      const byCell = compare(cellText(left, column), cellText(right, column));
      return isDescending ? -byCell : byCell;
    });
    if (sorted.some((row, index) => row !== rows[index])) body.append(...sorted);
  }
}

function cellText(row: HTMLTableRowElement, column: number): string {
  return row.cells[column]?.textContent.trim() ?? '';
}

/** Without a script there is nothing to press. An update leaves the head alone from then on (morph.ts). */
function putButton(head: Element): void {
  if (head.hasAttribute('data-enhanced')) return;
  head.setAttribute('data-enhanced', '');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'sort';
  button.append(...[...head.childNodes].filter((node) => !(node instanceof HTMLDetailsElement)));
  head.prepend(button);
}
