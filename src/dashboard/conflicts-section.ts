import { html } from 'hono/html';
import { groupVersionString } from '../apimachinery/group-version.ts';
import type { DiscoveryConflict } from '../discovery/merging/merge-resource.ts';
import type { RouterStatus } from '../own-paths/status/router-status.ts';
import { displayName } from './wording/display-names.ts';
import { count, type Markup } from './wording/markup.ts';

/** Resources that servers describe in ways that exclude each other (docs/explanation/discovery.md). */
export function conflictsSection(
  { snapshot, documents, discovery: { conflicts, conflictCount } }: RouterStatus,
  hostnames: ReadonlyMap<string, string>,
): Markup {
  return html`<section id="conflicts" class="card" aria-labelledby="conflicts-heading">
<h2 id="conflicts-heading">Conflicts</h2>
${
  conflictCount === 0
    ? html`<p class="muted">${noConflicts(snapshot !== null, documents.length)}</p>`
    : html`<p>Clients are shown the first claim, the leading server's.${
        conflicts.length < conflictCount
          ? ` The first ${conflicts.length} of ${conflictCount} are listed.`
          : ''
      }</p>
<table>
<caption class="visually-hidden">Resources that servers describe differently, and who says what</caption>
<thead><tr><th scope="col">Resource</th><th scope="col">Claims</th></tr></thead>
<tbody>${conflicts.map((conflict) => conflictRow(conflict, hostnames))}</tbody>
</table>`
}
</section>`;
}

function noConflicts(hasSnapshot: boolean, missingDocuments: number): string {
  if (!hasSnapshot) return 'Nothing is known yet: there has been no snapshot.';
  const none = 'no two servers describe a resource in ways that exclude each other';
  return missingDocuments === 0
    ? `None: ${none}.`
    : `None is known: in what could be read, ${none}. ${count(missingDocuments, 'document')} could not be, or may be old.`;
}

function conflictRow(conflict: DiscoveryConflict, hostnames: ReadonlyMap<string, string>): Markup {
  const { group, version, resource, subresource, field, claims } = conflict;
  const name = subresource === '' ? resource : `${resource}/${subresource}`;
  return html`<tr>
<th scope="row"><span class="name">${name}</span> <span class="version">${groupVersionString(group, version)}</span>
<span class="detail">${field}</span></th>
<td><ol class="claims">${claims.map(
    ({ value, serverIds }) =>
      html`<li><b>${value}</b> <span class="detail">${serverIds.map((id, index) => html`${index === 0 ? '' : ', '}<span class="name">${displayName(id, hostnames)}</span>`)}</span></li>`,
  )}</ol></td>
</tr>`;
}
