import { html } from 'hono/html';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import { firstExpiry } from '../own-paths/status/status-sources.ts';
import type { PageState } from './page-state.ts';
import { displayName, type Hostnames, withDisplayNames } from './wording/display-names.ts';
import { age, badge, type Markup, timeOfDay } from './wording/markup.ts';

/** How the router is doing, in one sentence that is read out when it changes, and in a few facts. */
export function summarySection(state: PageState, headline: string, hostnames: Hostnames): Markup {
  const { status } = state;
  const cluster = status.snapshot?.cluster ?? null;
  return html`<section id="summary" aria-labelledby="summary-heading">
<h2 id="summary-heading" class="visually-hidden">Summary</h2>
<p role="status" class="visually-hidden">${spoken(status, headline)}</p>
<p class="as-of muted">As of ${timeOfDay(state.now)}</p>
<dl class="facts">
<div><dt>Readiness</dt><dd>${readiness(state)}</dd></div>
<div><dt>Cluster read</dt><dd>${snapshot(state)}</dd></div>
${expiry(state)}<div><dt>Cluster</dt><dd>${cluster === null ? html`<span class="muted">not named</span>` : html`<b>${cluster}</b>`}
<span class="detail">seen by ${status.form === 'gateway' ? 'a gateway' : html`the router at <span class="name">${displayName(status.serverId ?? '', hostnames)}</span>`}</span></dd></div>
</dl>
${notices(state, hostnames)}
</section>`;
}

function spoken({ readiness: { ready }, servers, snapshot }: RouterStatus, headline: string): string {
  const ofSnapshot = snapshot === null ? 'There has been no snapshot yet.' : 'The snapshot is old.';
  return [
    `The router is ${ready ? '' : 'not '}ready.`,
    ...(servers.length === 0 ? [] : [`${headline}.`]),
    ...(snapshot === null || snapshot.old ? [ofSnapshot] : []),
  ].join(' ');
}

function readiness({
  status: {
    readiness: { ready, failures },
  },
}: PageState): Markup {
  return html`${ready ? badge('good', 'Ready') : badge('bad', 'Not ready')}
${failures.map(({ name, reason }) => html`<span class="detail">${name}: ${reason}</span>`)}`;
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

/** The certificate or token that expires first. */
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
  if (warnings.length === 0) return html``;
  return html`<div class="notices">
${warnings.map(
  ({ message, see }) =>
    html`<p class="notice">${badge('warning', 'Warning')} ${withDisplayNames(message, hostnames)}${see === null ? '' : html` <a class="see" href="${see}">What to do</a>`}</p>`,
)}
</div>`;
}
