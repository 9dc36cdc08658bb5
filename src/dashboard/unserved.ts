import { html } from 'hono/html';
import { groupVersionString } from '../apimachinery/group-version.ts';
import { isUsable } from '../own-paths/status/router-status.ts';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import { count } from './wording/display-names.ts';
import { badge, type Markup, resourceMarkup } from './wording/markup.ts';

/** A resource, or a subresource of one, that no healthy server serves. */
interface UnservedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
}

export interface Unserved {
  /** No server is usable at all: nothing is served, and `resources` lists nothing. */
  readonly everything: boolean;
  /** Resources that some servers serve, all of which are down. */
  readonly resources: readonly UnservedResource[];
}

/** The resources for which requests get a 503: no server that serves them is usable. Pure. */
export function unserved({ served, servers }: Pick<RouterStatus, 'served' | 'servers'>): Unserved {
  const usable = new Set(servers.filter(isUsable).map(({ id }) => id));
  const isUp = (served?.columns ?? []).map(({ servers: those }) => those.some((id) => usable.has(id)));
  if (served === null || !isUp.includes(false)) return { everything: false, resources: [] };
  if (!isUp.includes(true)) return { everything: true, resources: [] };
  const resources = served.differing.flatMap(({ group, rows }) =>
    rows
      .filter(({ cells }) => !cells.some((cell, column) => cell !== 'missing' && isUp[column] === true))
      .map(({ version, resource, subresource }) => ({ group, version, resource, subresource })),
  );
  return { everything: false, resources };
}

/** The table of what differs has them all. */
const namedAtMost = 20;

/** The section on resources that no usable server serves. Empty while there are none. */
export function unservedSection(
  { everything, resources }: Unserved,
  { enabled }: Pick<RouterStatus, 'enabled'>,
): Markup {
  if (!everything && resources.length === 0) return html``;
  // With the gate off they go to the local server, whose 404 says so.
  const consequence = enabled ? `: requests for ${resources.length === 1 ? 'it' : 'them'} get 503` : '';
  const text = everything
    ? 'Every API server is down or cannot be reached: requests get 503.'
    : `${count(resources.length, 'resource is', 'resources are')} served by no healthy server${consequence}.`;
  return html`<section id="unserved" class="card trouble" aria-labelledby="unserved-heading">
<h2 id="unserved-heading">${badge('bad', 'No healthy server')}</h2>
<p>${text}</p>
${
  resources.length === 0
    ? ''
    : html`<ul class="names">${resources
        .slice(0, namedAtMost)
        .map(
          ({ group, version, resource, subresource }) =>
            html`<li>${resourceMarkup(resource, subresource, groupVersionString(group, version))}</li>`,
        )}</ul>`
}
${resources.length > namedAtMost ? html`<p class="muted">And ${resources.length - namedAtMost} more.</p>` : ''}
</section>`;
}
