import { html } from 'hono/html';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import { firstExpiry } from '../own-paths/status/status-sources.ts';
import { compareNames } from '../runtime/compare-names.ts';
import type { PageState } from './page-state.ts';
import type { Unserved } from './unserved.ts';
import type { UpgradeState } from './upgrade-state.ts';
import { displayName, type Hostnames, withDisplayNames } from './wording/display-names.ts';
import { age, badge, count, type Markup, timeOfDay } from './wording/markup.ts';

/** How the router is doing, in one sentence that is read out when it changes, and in a few facts. */
export function summarySection(
  state: PageState,
  upgrade: UpgradeState,
  without: Unserved,
  hostnames: Hostnames,
): Markup {
  const { status } = state;
  const cluster = status.snapshot?.cluster ?? null;
  return html`<section id="summary" aria-labelledby="summary-heading">
<h2 id="summary-heading" class="visually-hidden">Summary</h2>
<p role="status" class="visually-hidden">${sentence(state, upgrade, without)}</p>
<p class="as-of muted">As of ${timeOfDay(state.now)}</p>
<dl class="facts">
<div><dt>Readiness</dt><dd>${readiness(state)}</dd></div>
<div><dt>API servers</dt><dd>${servers(status)}</dd></div>
<div><dt>Cluster read</dt><dd>${snapshot(state)}</dd></div>
${expiry(state)}<div><dt>Cluster</dt><dd>${cluster === null ? html`<span class="muted">not named</span>` : html`<b>${cluster}</b>`}
<span class="detail">seen by ${status.form === 'gateway' ? 'a gateway' : html`the router at <span class="name">${displayName(status.serverId ?? '', hostnames)}</span>`}</span></dd></div>
</dl>
${notices(state, hostnames)}
</section>`;
}

/** Holds nothing that changes by itself, so that a screen reader speaks only when there is news. */
function sentence({ status }: PageState, upgrade: UpgradeState, without: Unserved): string {
  const { snapshot, readiness } = status;
  const versions = upgrade.shares.filter(({ version }) => version !== undefined).length;
  const present = status.servers.filter(({ departedAt }) => departedAt === null);
  const departed = status.servers.length - present.length;
  const unhealthy = present.filter(({ health }) => health.status === 'unhealthy').length;
  const isKnown = present.every(({ health }) => health.status !== 'unknown');
  const none = isKnown ? 'none of them' : 'none of them known to be';
  return [
    readiness.ready ? 'The router is ready.' : 'The router is not ready.',
    snapshot === null ? 'There has been no snapshot yet.' : snapshot.old ? 'The snapshot is old.' : '',
    `${count(present.length, 'API server')}, ${unhealthy === 0 ? none : `${unhealthy} of them`} unhealthy.`,
    departed === 0 ? '' : `${departed} departed.`,
    upgrade.state === 'mixed' ? `They run ${count(versions, 'version')}.` : '',
    without.everything ? 'Nothing is served.' : '',
    without.resources.length === 0
      ? ''
      : `${count(without.resources.length, 'resource is', 'resources are')} served by no healthy server.`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function readiness({
  status: {
    readiness: { ready, failures },
  },
}: PageState): Markup {
  return html`${ready ? badge('good', 'Ready') : badge('bad', 'Not ready')}
${failures.map(({ name, reason }) => html`<span class="detail">${name}: ${reason}</span>`)}`;
}

function servers({ servers: listed }: RouterStatus): Markup {
  if (listed.length === 0) return badge('neutral', 'None known');
  const present = listed.filter(({ departedAt }) => departedAt === null);
  const departed = listed.length - present.length;
  const countOf = (wanted: string) => present.filter(({ health }) => health.status === wanted).length;
  const [unhealthy, unknown] = [countOf('unhealthy'), countOf('unknown')];
  const healthy = present.length - unhealthy - unknown;
  const others = [
    ...(unhealthy > 0 && healthy > 0 ? [`${healthy} healthy`] : []),
    ...(unknown > 0 ? [`health of ${unknown} not known`] : []),
    ...(departed > 0 && present.length > 0 ? [`${departed} departed`] : []),
  ].join(', ');
  return html`${serversBadge(present.length, healthy, unhealthy)}<span class="detail">${others}</span>`;
}

function serversBadge(present: number, healthy: number, unhealthy: number): Markup {
  if (present === 0) return badge('warning', 'All departed');
  if (unhealthy > 0) return badge('bad', `${unhealthy} unhealthy`);
  return healthy > 0 ? badge('good', `${healthy} healthy`) : badge('neutral', count(present, 'server'));
}

function snapshot({ status, now }: PageState): Markup {
  if (status.snapshot === null) {
    const advice =
      status.embeddedSync === null ? 'Is the sync job running?' : 'The router reads the cluster itself.';
    return html`${badge('warning', 'None yet')}<span class="detail">${advice}</span>`;
  }
  const { embeddedSync } = status;
  const readAt = Date.parse(
    embeddedSync === null ? status.snapshot.createdAt : (embeddedSync.lastReadAt ?? ''),
  );
  return html`${status.snapshot.old ? badge('warning', 'Old') : ''} <b>${Number.isNaN(readAt) ? 'before this router started' : html`${age(readAt, now)} ago`}</b>
<span class="detail">${embeddedSync === null ? 'by a sync job, which pushes it' : 'by this router'}</span>`;
}

/** Of certificates and tokens the one that expires first. */
function expiry({ status: { certificates }, now }: PageState): Markup {
  const first = firstExpiry(certificates, now);
  if (first === undefined) return html``;
  return html`<div><dt>Expires first</dt><dd>${first.isNear ? badge('warning', 'Renew') : ''}<span class="detail">${first.text}</span></dd></div>
`;
}

function notices({ status }: PageState, hostnames: Hostnames): Markup {
  const gate = status.enabled
    ? []
    : [
        {
          message:
            'The feature gate UnknownVersionInteroperabilityProxy is off: every request goes to the local server.',
          see: 'docs/guides/emergency.md',
        },
      ];
  const warnings = [...gate, ...status.warnings];
  const { documents, undecodable } = status;
  if (warnings.length === 0 && documents.length === 0) return html``;
  return html`<div class="notices">
${warnings.map(
  ({ message, see }) =>
    html`<p class="notice">${badge('warning', 'Warning')} ${withDisplayNames(message, hostnames)}${see === null ? '' : html` <span class="see">See ${see}</span>`}</p>`,
)}
${undecodable.length === 0 ? '' : undecodableDetails(status, hostnames)}
${documents.length === 0 ? '' : documentProblems(status, hostnames)}
</div>`;
}

function undecodableDetails({ undecodable }: RouterStatus, hostnames: Hostnames): Markup {
  return html`<details data-key="undecodable">
<summary>Stored in a form that some servers cannot read: ${count(undecodable.length, 'resource')}</summary>
<ul>${undecodable.map(
    ({ resource, storedAt, servers: those }) =>
      html`<li><span class="name">${resource}</span>, stored as <span class="name">${storedAt.join(', ')}</span>: not read by <span class="name">${namesOf(those, hostnames)}</span></li>`,
  )}</ul>
</details>`;
}

function documentProblems({ documents }: RouterStatus, hostnames: Hostnames): Markup {
  const concerned = new Set(documents.map(({ server }) => server)).size;
  return html`<details data-key="document-problems">
<summary>Discovery of ${count(concerned, 'server')} could not be read in full; what was last known is shown</summary>
<ul>${documents.map(
    ({ path, server, problem }) =>
      html`<li><span class="name">${path}</span> of <span class="name">${displayName(server, hostnames)}</span>: ${problem}</li>`,
  )}</ul>
</details>`;
}

function namesOf(ids: readonly string[], hostnames: Hostnames): string {
  return ids
    .map((id) => displayName(id, hostnames))
    .sort(compareNames)
    .join(', ');
}
