import { html } from 'hono/html';
import type { SnapshotApiService } from '../snapshot/format/types.ts';
import { badge, type Markup } from './wording/markup.ts';

/** Aggregated APIs, which stand beside the API servers. Empty where there are none. */
export function extensionsSection(apiServices: readonly SnapshotApiService[]): Markup {
  const extensions = apiServices.filter(({ service }) => service !== undefined);
  if (extensions.length === 0) return html``;
  return html`<section id="extensions" class="card" aria-labelledby="extensions-heading">
<h2 id="extensions-heading">Extension API servers</h2>
<table>
<caption class="visually-hidden">Group versions that extension API servers serve</caption>
<thead><tr><th scope="col">Group version</th><th scope="col">Service</th><th scope="col">State</th></tr></thead>
<tbody>${extensions.map(
    ({ group, version, service, available }) => html`<tr>
<th scope="row"><span class="name">${group}/${version}</span></th>
<td><span class="name">${service?.namespace}/${service?.name}</span></td>
<td>${available ? badge('good', 'Available') : badge('bad', 'Not available')}</td>
</tr>`,
  )}</tbody>
</table>
</section>`;
}
