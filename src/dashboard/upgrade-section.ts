import { html } from 'hono/html';
import { countDiffering } from '../own-paths/status/router-status.ts';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import { compareNames } from '../runtime/compare-names.ts';
import { isDownState } from '../servers/server-states.ts';
import type { PageState } from './page-state.ts';
import type { Unserved } from './unserved.ts';
import { headline, type NextStop, type Upgrade } from './upgrade.ts';
import {
  count,
  displayName,
  type Hostnames,
  shortVersion,
  stateName,
  type VersionColours,
} from './wording/display-names.ts';
import { badge, type Markup } from './wording/markup.ts';
import { preferenceText } from './wording/preferred-version-text.ts';

/** Servers that are away and are named; of more only their number is told. */
const namedAtMost = 5;

/** Where the cluster is on its way from version to version, and what can be done next. Empty while no server is known. */
export function upgradeSection(
  { status, history }: Pick<PageState, 'status' | 'history'>,
  upgrade: Upgrade,
  next: NextStop | undefined,
  without: Unserved,
  hostnames: Hostnames,
  colourOf: VersionColours,
): Markup {
  const { state, shares, servers, departed, away } = upgrade;
  if (servers + departed === 0) return html``;
  const preference = preferenceText(status);
  const differences = differencesText(upgrade, status, without);
  return html`<section id="upgrade" class="card upgrade ${state}${away.length > 0 ? ' trouble' : ''}" aria-labelledby="upgrade-heading">
<h2 id="upgrade-heading">${headline(upgrade)}</h2>
${servers === 0 ? '' : bar(upgrade, colourOf)}
<ul class="shares">${shares.map(
    ({ version, servers: number }) =>
      html`<li><span class="swatch ${colourOf(version)}" aria-hidden="true"></span><b>${version === undefined ? 'Version not known' : shortVersion(version)}</b> ${count(number, 'server')}</li>`,
  )}${departed === 0 ? '' : html`<li>${count(departed, 'server')} away</li>`}</ul>
${away.length === 0 ? '' : awayText(away, hostnames)}
<ul class="statements">
${next === undefined ? '' : html`<li class="advice">${nextText(next, hostnames, history !== undefined)}</li>`}
${preference === undefined ? '' : html`<li>Version ${preference}.</li>`}
${differences === '' ? '' : html`<li>${differences}</li>`}
</ul>
</section>`;
}

function awayText(away: Upgrade['away'], hostnames: Hostnames): Markup {
  const named = [...away]
    .sort((one, other) => compareNames(displayName(one.id, hostnames), displayName(other.id, hostnames)))
    .slice(0, namedAtMost);
  return html`<ul class="away">${named.map(
    ({ id, departedAt, address, health }) =>
      html`<li>${badge('bad', departedAt !== null ? 'Away' : address === null && !isDownState(health.status) ? 'No address' : stateName(health.status))} <span class="name">${displayName(id, hostnames)}</span></li>`,
  )}${away.length > named.length ? html`<li>and ${away.length - named.length} more</li>` : ''}</ul>`;
}

function nextText(next: NextStop, hostnames: Hostnames, hasUse: boolean): Markup {
  if (next.kind === 'wait') return html`<b>Stop no server now</b>: wait until all servers are back.`;
  const name = html`<span class="name">${displayName(next.server, hostnames)}</span>`;
  if (next.kind === 'safe') return html`Safe to stop next: ${name}. Others serve all that it serves.`;
  const { resources } = next;
  const use = hasUse ? html` See <a href="#clients">who uses what differs</a>.` : '';
  return html`Stop next: ${name}. Only it serves ${count(resources, 'resource')}, which ${resources === 1 ? 'goes' : 'go'} away with it.${use}`;
}

/**
 * The text about differences. Other parts of the page say what no healthy server serves, and that the feature gate is
 * off.
 */
function differencesText(
  { state, away }: Upgrade,
  { enabled, served }: RouterStatus,
  without: Unserved,
): string {
  const unknown = state === 'unknown' ? 'Whether an upgrade is in progress is not known. ' : '';
  const differing = countDiffering(served);
  if (differing === 0) return away.length > 0 ? unknown : `${unknown}Every server serves the same.`;
  const isRouted = enabled && !without.everything && without.resources.length === 0;
  const routed = isRouted ? `; requests for ${differing === 1 ? 'it' : 'them'} go to one that does` : '';
  const differs = `${count(differing, 'resource is', 'resources are')} not served by every server${routed}.`;
  return state === 'differing'
    ? `No upgrade: look for feature gates and --runtime-config. ${differs}`
    : `${unknown}${differs}`;
}

/** Decoration: the list beside it says the same in words. Widths are attributes, since the page allows no style. */
function bar({ shares, servers }: Upgrade, colourOf: VersionColours): Markup {
  let start = 0;
  const segments = shares.map(({ version, servers: number }) => {
    const x = start;
    start += number;
    return html`<rect x="${x}" y="0" width="${number}" height="1" class="${colourOf(version)}"/>${x === 0 ? '' : html`<line x1="${x}" x2="${x}" y1="0" y2="1" class="gap"/>`}`;
  });
  return html`<svg class="bar" viewBox="0 0 ${servers} 1" preserveAspectRatio="none" aria-hidden="true" focusable="false">${segments}</svg>`;
}
