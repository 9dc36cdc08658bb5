import { html } from 'hono/html';
import type { Unserved, UnservedResource } from './unserved.ts';
import { badge, count, type Markup } from './wording/markup.ts';

/** Named at once; the others can be unfolded, and what is beyond counted. */
const namedAtOnce = 10;
const namedAtMost = 200;

/** What requests get a 503 for. Empty while there is nothing of the kind. */
export function unservedSection({ everything, resources }: Unserved): Markup {
  if (!everything && resources.length === 0) return html``;
  const text = everything
    ? 'Every API server is down or cannot be reached: requests get 503.'
    : `${count(resources.length, 'resource is', 'resources are')} served by no healthy server: requests for ${resources.length === 1 ? 'it' : 'them'} get 503.`;
  const rest = resources.slice(namedAtOnce, namedAtMost);
  return html`<section id="unserved" class="card trouble" aria-labelledby="unserved-heading">
<h2 id="unserved-heading">${badge('bad', 'No healthy server')}</h2>
<p>${text}</p>
${resources.length === 0 ? '' : list(resources.slice(0, namedAtOnce))}
${
  rest.length === 0
    ? ''
    : html`<details data-key="more-unserved"><summary>${resources.length - namedAtOnce} more</summary>${list(rest)}${
        resources.length > namedAtMost
          ? html`<p class="muted">And ${resources.length - namedAtMost} more.</p>`
          : ''
      }</details>`
}
</section>`;
}

function list(resources: readonly UnservedResource[]): Markup {
  return html`<ul class="names">${resources.map(
    ({ group, version, resource, subresource }) =>
      html`<li><span class="name">${resource}${subresource === '' ? '' : `/${subresource}`}</span> <span class="version">${group === '' ? version : `${group}/${version}`}</span></li>`,
  )}</ul>`;
}
