import { html } from 'hono/html';
import type { ServedMatrix } from './served-matrix.ts';
import { count, type Markup } from './wording/markup.ts';

/** Resources that every server serves, one fold a group. */
export function sharedSection({ shared, resources: known }: ServedMatrix): Markup {
  const resources = shared.reduce((sum, group) => sum + group.resources.length, 0);
  return html`<section id="shared" class="card" aria-labelledby="shared-heading">
<h2 id="shared-heading">Served by every server</h2>
${
  shared.length === 0
    ? html`<p class="muted">${known === 0 ? 'Nothing is known yet.' : 'No resource is served by every server.'}</p>`
    : html`<p class="muted">${count(resources, 'resource')} in ${count(shared.length, 'group')}</p>`
}
<div class="groups">${shared.map(
    ({ group, resources: listed }) => html`<details data-key="${group}">
<summary><span class="name">${group === '' ? 'core' : group}</span> <span class="tag">${listed.length}</span></summary>
<ul>${listed.map(
      ({ resource, versions }) =>
        html`<li><span class="name">${resource}</span> <span class="version">${versions.join(', ')}</span></li>`,
    )}</ul>
</details>`,
  )}</div>
</section>`;
}
