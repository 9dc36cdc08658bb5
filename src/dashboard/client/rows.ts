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

/** What a reader looks for: rows of tables, but for the heads of groups of them, and entries of the timeline. */
function listedRows(within: ParentNode): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>('tbody tr, .timeline > li')].filter(
    (row) => !isGroupHead(row),
  );
}

/**
 * After an update: the router writes all rows, in its own order. While the reader looks for something, what holds no row
 * of the kind is hidden: heads of groups, tables, sections.
 */
export function rearrangeRows(): void {
  for (const table of document.querySelectorAll('table')) sort(table);
  const main = elementOf('main', HTMLElement);
  const wanted = elementOf('filter', HTMLInputElement).value.trim().toLowerCase();
  let [shown, all] = [0, 0];
  for (const row of listedRows(main)) {
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
  for (const row of main.querySelectorAll<HTMLElement>('tbody tr')) {
    if (isGroupHead(row) && row.parentElement !== null) row.hidden = holdsNothing(row.parentElement);
  }
  for (const part of main.querySelectorAll<HTMLElement>('table, section')) {
    part.hidden = wanted !== '' && holdsNothing(part);
  }
  updateHints();
  const found = elementOf('filter-found', HTMLElement);
  const text = wanted === '' ? '' : `${shown} of ${all} rows`;
  if (found.textContent !== text) found.textContent = text;
}

function holdsNothing(part: ParentNode): boolean {
  return listedRows(part).every(({ hidden }) => hidden);
}

function isGroupHead(row: Element): boolean {
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
