import { html } from 'hono/html';
import { compareServerVersions } from '../apimachinery/server-version.ts';
import type { HistoryView } from '../own-paths/history/history-view.ts';
import {
  countedVersion,
  isUsable,
  type ListedServer,
  respondingVersion,
} from '../own-paths/status/router-status.ts';
import { compareNames } from '../runtime/compare-names.ts';
import { isDownState } from '../servers/server-states.ts';
import { numberCell } from './history/traffic-section.ts';
import type { PageState } from './page-state.ts';
import type { NextStop } from './upgrade.ts';
import { displayName, type Hostnames, peculiarityOf, stateName } from './wording/display-names.ts';
import { age, badge, type Markup, stackingTable, versionMarkup } from './wording/markup.ts';

interface Marks {
  /** Minor version that writes, or requests for what differs, go to; `undefined`: to any. */
  readonly preferred: string | undefined;
  readonly next: string | undefined;
}

export function serversSection(state: PageState, hostnames: Hostnames, next: NextStop | undefined): Markup {
  const { enabled, preferredVersion, servers } = state.status;
  const { minor } = preferredVersion;
  const marks: Marks = {
    preferred: enabled && minor !== null ? respondingVersion(minor, servers) : undefined,
    next: next?.kind === 'safe' ? next.server : undefined,
  };
  const sorted = [...servers].sort((left, right) => compareServers(left, right, hostnames));
  return html`<section id="servers" class="card" aria-labelledby="servers-heading">
<h2 id="servers-heading">API servers</h2>
${servers.length === 0 ? html`<p class="muted">None is known${state.status.snapshot === null ? ': there has been no snapshot yet' : ''}.</p>` : ''}
${sorted.length === 0 ? '' : serversTable(sorted, state, hostnames, marks)}
</section>`;
}

/** Unhealthy, then the local one, then by version and name. */
function compareServers(left: ListedServer, right: ListedServer, hostnames: Hostnames): number {
  return (
    Number(isDownState(right.health.status)) - Number(isDownState(left.health.status)) ||
    Number(right.local) - Number(left.local) ||
    compareServerVersions(left.version ?? undefined, right.version ?? undefined) ||
    compareNames(displayName(left.id, hostnames), displayName(right.id, hostnames))
  );
}

function serversTable(
  servers: readonly ListedServer[],
  state: PageState,
  hostnames: Hostnames,
  marks: Marks,
): Markup {
  const numbers = state.history === undefined ? [] : ['Per second', '5xx'];
  return stackingTable(
    'servers',
    `API servers: version, health${numbers.length === 0 ? '' : ', and the requests of the last hour through this router'}`,
    [
      { name: 'Server' },
      { name: 'Version' },
      { name: 'Health' },
      ...numbers.map((name) => ({ name, isNumber: true })),
    ],
    servers.map((server) => serverRow(server, state, hostnames.get(server.id), marks)),
  );
}

function serverRow(
  server: ListedServer,
  state: PageState,
  hostname: string | undefined,
  { preferred, next }: Marks,
): Markup {
  const { id, local, version, stale, departedAt, health } = server;
  const { history, now } = state;
  const isPreferred =
    preferred !== undefined && isUsable(server) && preferred === (countedVersion(server) ?? 'unknown');
  const peculiarity = peculiarityOf(server);
  const mark = state.status.preferredVersion.enforcementDiffers ? 'writes go here' : 'preferred version';
  return html`<tr role="row" data-key="${id}">
<th scope="row" role="rowheader"><span class="name">${hostname ?? id}</span>${local ? html` <span class="tag">local</span>` : ''}${isPreferred ? html` <span class="tag strong">${mark}</span>` : ''}${id === next ? html` <span class="tag strong advice">safe to stop next</span>` : ''}
${hostname === undefined ? '' : html`<span class="detail name">${id}</span>`}
<span class="detail">${departedAt === null ? addressText(server) : 'may come back; what only it serves is 503'}</span></th>
<td role="cell">${versionMarkup(version)}${peculiarity === '' ? '' : html`<span class="detail">${peculiarity}</span>`}${stale && departedAt === null ? html`<span class="detail">could not be read lately</span>` : ''}</td>
<td role="cell">${departedAt === null ? healthBadge(health) : badge('warning', 'Departed')}
<span class="detail">${departedAt === null ? html`${since(health, now)}${isToldByRouter(server) ? ', as its router says' : ''}` : html`${age(Date.parse(departedAt), now)} ago`}</span></td>
${history === undefined ? '' : trafficCells(history, id)}
</tr>`;
}

function addressText({ address, addressSource, local }: ListedServer): string {
  if (address === null) return 'no address: it cannot be sent to';
  if (addressSource !== 'advertised') return address;
  return local ? `others call this router, at ${address}` : `called at ${address}, its router`;
}

/** A peer that is asked at its router is never seen by itself: who says that it is not ready is the router. */
function isToldByRouter({ addressSource, local, health }: ListedServer): boolean {
  return addressSource === 'advertised' && !local && health.status === 'unready';
}

function trafficCells({ servers }: HistoryView, id: string): Markup {
  const { perSecond = 0, failed = 0 } = servers.find((server) => server.id === id) ?? {};
  return html`${numberCell(perSecond, 'per second')}${numberCell(failed, 'failed (5xx)')}`;
}

function healthBadge({ status }: ListedServer['health']): Markup {
  const text = stateName(status);
  if (isDownState(status)) return badge('bad', text);
  return badge(status === 'ready' || status === 'suspect' ? 'good' : 'neutral', text);
}

function since({ since: text }: ListedServer['health'], now: number): Markup | string {
  return text === null ? '' : html`for ${age(Date.parse(text), now)}`;
}
