import { html } from 'hono/html';
import { countDiffering } from '../own-paths/status/router-status.ts';
import type {
  DifferingGroup,
  DifferingRow,
  RouterStatus,
  ServedComparison,
} from '../own-paths/status/status-schema.ts';
import { compareNames } from '../runtime/compare-names.ts';
import { count, displayName, type Hostnames } from './wording/display-names.ts';
import { icon, type Markup, resourceMarkup, scrolling, versionMarkup } from './wording/markup.ts';

/** Servers of a column that are named in its head; of more only their number is, and their names can be unfolded. */
const namedInHead = 1;

/** Which server serves what, as far as they differ: a row for each resource, a column for each kind of server. Empty where they do not. */
export function differencesSection({ served }: Pick<RouterStatus, 'served'>, hostnames: Hostnames): Markup {
  const differingRows = countDiffering(served);
  if (served === null || differingRows === 0) return html``;
  const { columns, differing } = served;
  return html`<section id="differences" class="card" aria-labelledby="differences-heading">
<h2 id="differences-heading">What differs</h2>
<p class="legend"><b>${count(differingRows, 'resource')}</b> <span class="meaning">${symbol('served')} served</span> <span class="meaning">${symbol('missing')} not served</span>${
    hasUnknown(differing)
      ? html` <span class="meaning">${symbol('unknown')} not known, taken as served</span>`
      : ''
  }</p>
${scrolling(
  'Table of what differs',
  html`<table class="matrix" role="table">
<caption class="visually-hidden">Resources that not every server serves, and which servers do</caption>
<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">Resource</th>${columns.map((column, index) => columnHead(column, index, hostnames))}</tr></thead>
${differing.map((group) => groupBody(group, columns.length))}
</table>`,
)}
</section>`;
}

/** Placeholder for a part that the page has already, so that an update need not send it again. */
export function unchangedDifferences(): Markup {
  return html`<section id="differences" data-unchanged></section>`;
}

function columnHead(
  { version, servers }: ServedComparison['columns'][number],
  index: number,
  hostnames: Hostnames,
): Markup {
  const names = servers
    .map((id) => displayName(id, hostnames))
    .sort(compareNames)
    .map((name) => html`<span class="name detail">${name}</span>`);
  const key = `${version ?? ''} ${servers.map((id) => displayName(id, hostnames)).join(' ')}`;
  return html`<th scope="col" role="columnheader" data-key="${key}">${versionMarkup(version)}${
    servers.length <= namedInHead
      ? names
      : html`<details data-key="column-${index}"><summary>${count(servers.length, 'server')}</summary>${names}</details>`
  }</th>`;
}

function groupBody({ group, rows }: DifferingGroup, columns: number): Markup {
  return html`<tbody role="rowgroup" data-key="${group}">
<tr role="row"><th scope="rowgroup" role="rowheader" colspan="${columns + 1}"><span class="name">${group === '' ? 'core' : group}</span></th></tr>
${rows.map(matrixRow)}
</tbody>`;
}

function matrixRow({ version, resource, subresource, cells }: DifferingRow): Markup {
  return html`<tr role="row"><th scope="row" role="rowheader">${resourceMarkup(resource, subresource, version)}</th>${cells.map(
    (cell) =>
      html`<td class="${cell}" role="cell">${symbol(cell)}<span class="visually-hidden">${words[cell]}</span></td>`,
  )}</tr>`;
}

type Cell = DifferingRow['cells'][number];

const words: Readonly<Record<Cell, string>> = {
  served: 'served',
  missing: 'not served',
  unknown: 'not known',
};

const shapes: Readonly<Record<Cell, string>> = {
  served: 'M13.6 3.4 6.4 12 2.4 8.2l1.2-1.3 2.7 2.6 6-7.2Z',
  missing: 'M3 7.2h10v1.6H3Z',
  unknown:
    'M8 2.2c2 0 3.5 1.2 3.5 3 0 1.4-.8 2.1-1.6 2.7-.8.6-1.1.9-1.1 1.7v.2H7.2v-.2c0-1.5.7-2.2 1.6-2.9.7-.5 1-.9 1-1.5 0-.8-.7-1.4-1.8-1.4-1.2 0-1.9.7-2 1.8H4.3C4.4 3.5 5.9 2.2 8 2.2ZM7.1 11.6h1.8v1.9H7.1Z',
};

function symbol(cell: Cell): Markup {
  return html`<span class="symbol ${cell}">${icon(shapes[cell])}</span>`;
}

function hasUnknown(groups: readonly DifferingGroup[]): boolean {
  return groups.some(({ rows }) => rows.some(({ cells }) => cells.includes('unknown')));
}
