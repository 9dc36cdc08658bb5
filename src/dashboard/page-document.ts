import { html, raw } from 'hono/html';
import type { RouterStatus } from '../own-paths/status/router-status.ts';
import type { SnapshotApiService } from '../snapshot/format/schema.ts';
import { clientScript, clientStyle } from './client-assets.ts';
import { clusterView, type UpgradeState } from './cluster-view.ts';
import { decisionsSection } from './decisions-section.ts';
import { conflictsSection, differencesSection, unchangedSection } from './differences-section.ts';
import { type Explained, explainSection, explanationFragment } from './explain-section.ts';
import { timelineSection } from './history/timeline-section.ts';
import { trafficSection } from './history/traffic-section.ts';
import { useSection } from './history/use-section.ts';
import type { PageState } from './page-state.ts';
import type { ServedMatrix } from './served-matrix.ts';
import { serversSection } from './servers-section.ts';
import { summarySection } from './summary-section.ts';
import { type Unserved, unserved, unservedSection } from './unserved.ts';
import { reroutingText } from './wording/decision-text.ts';
import { shortVersion, type VersionColours, versionColours } from './wording/display-names.ts';
import { badge, count, type Markup } from './wording/markup.ts';
import { preferenceText } from './wording/preferred-version-text.ts';

/** Parts of the page that a reader may want to go to. */
const sections = [
  ['servers', 'API servers'],
  ['traffic', 'Last hour'],
  ['timeline', 'Timeline'],
  ['clients', 'Who uses what differs'],
  ['differences', 'What differs'],
  ['explain', 'Explain'],
  ['decisions', 'Live decisions'],
  ['conflicts', 'Conflicts'],
  ['shared', 'Served by all'],
] as const;

/** Sections that a runtime without a history does not have. */
const ofHistory: ReadonlySet<string> = new Set(['timeline', 'clients']);

/** The whole page. */
export function pageDocument(state: PageState, explained: Explained | undefined): Markup {
  const { serverId } = state.status;
  const { hostnames } = clusterView(state.table);
  const router = serverId === null ? 'Gateway' : (hostnames.get(serverId) ?? serverId);
  const { overview, activity } = liveParts(state, undefined);
  const listed = sections.filter(([id]) => state.history !== undefined || !ofHistory.has(id));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${router} · Mixed Version Proxy</title>
<link rel="icon" href="data:,">
<style>${raw(clientStyle)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="page-header">
<div class="title"><p>Mixed Version Proxy</p><h1>${router}</h1></div>
<div class="live-state"><p id="live-state" role="status"></p><button id="live-toggle" type="button" hidden>Pause updates</button></div>
<div id="filter-field" class="field" hidden><label for="filter">Filter rows</label><input id="filter" type="search" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="server, version, resource, user agent"><p id="filter-found" class="muted" role="status"></p></div>
<nav aria-label="Sections"><ul class="sections">${listed.map(([id, name]) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav>
</header>
<main id="main" tabindex="-1">
<p id="outdated" class="card" hidden></p>
${overview}
${explainSection(explained, state, hostnames)}
${activity}
</main>
<noscript><p class="page-note">Without scripts this page shows one moment: load it again to see the next.</p></noscript>
<script>${raw(clientScript)}</script>
</body>
</html>`;
}

/**
 * The parts of the page that change by themselves.
 * @param knownGeneration what the page has of the snapshot
 * @param explained the request whose explanation the page shows
 */
export function liveFragment(
  state: PageState,
  knownGeneration: number | undefined,
  explained: Explained | undefined,
): Markup {
  const { overview, activity } = liveParts(state, knownGeneration);
  const { hostnames } = clusterView(state.table);
  return html`${overview}${explained === undefined ? '' : explanationFragment(explained, state, hostnames)}${activity}`;
}

function liveParts(state: PageState, knownGeneration: number | undefined) {
  const { table, status } = state;
  const { columns, matrix, upgrade, hostnames } = clusterView(table);
  const without = unserved(columns, matrix, status.servers);
  const { history, now } = state;
  const colourOf = versionColours([
    ...upgrade.shares.map(({ version }) => version),
    ...(history?.versions.map(({ version }) => version) ?? []),
  ]);
  const isKnown = knownGeneration !== undefined && knownGeneration === table?.generation;
  return {
    overview: html`<div id="overview" data-now="${state.now}" data-generation="${table?.generation ?? ''}">
${summarySection(state, upgrade, without, hostnames)}
${unservedSection(without, status)}
${upgradeSection(upgrade, matrix, status, without, colourOf)}
${serversSection(state, hostnames)}
${trafficSection(history, colourOf, hostnames, now)}
${timelineSection(history, hostnames, now, status.embeddedSync !== null)}
${useSection(history, now)}
${isKnown ? unchangedSection('differences') : differencesSection(columns, matrix, hostnames)}
</div>`,
    activity: html`<div id="activity">
${decisionsSection(state, hostnames)}
${conflictsSection(status, hostnames)}
${extensionsSection(table?.snapshot.apiServices ?? [])}
${isKnown ? unchangedSection('shared') : sharedSection(matrix)}
</div>`,
  };
}

/** Aggregated APIs, which stand beside the API servers. Empty where there are none. */
function extensionsSection(apiServices: readonly SnapshotApiService[]): Markup {
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

/** Resources that every server serves, one fold a group. */
function sharedSection({ shared, resources: known }: ServedMatrix): Markup {
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

/** Whether an upgrade is in progress, and how far it has come. Empty while no server is known. */
function upgradeSection(
  upgrade: UpgradeState,
  matrix: ServedMatrix,
  status: RouterStatus,
  without: Unserved,
  colourOf: VersionColours,
): Markup {
  const { state, shares, servers, departed } = upgrade;
  if (servers + departed === 0) return html``;
  const preference = preferenceText(status);
  return html`<section id="upgrade" class="card upgrade ${state}" aria-labelledby="upgrade-heading">
<h2 id="upgrade-heading">${heading(upgrade)}</h2>
<p>${explanation(upgrade, matrix, status, without)}${preference === undefined ? '' : ` Version ${preference}.`}</p>
${servers === 0 ? '' : bar(upgrade, colourOf)}
<ul class="shares">${shares.map(
    ({ version, servers: number }) =>
      html`<li><span class="swatch ${colourOf(version)}" aria-hidden="true"></span><b>${version === undefined ? 'Version not known' : shortVersion(version)}</b> ${count(number, 'server')}</li>`,
  )}${departed === 0 ? '' : html`<li>${count(departed, 'server')} departed</li>`}</ul>
</section>`;
}

function heading({ state, shares, servers, departed }: UpgradeState): string {
  if (servers === 0) return `${count(departed, 'server')}, all departed`;
  const known = shares.flatMap(({ version }) => (version === undefined ? [] : [shortVersion(version)]));
  if (state === 'mixed') return `${count(known.length, 'version')} side by side`;
  const unknown = shares.find(({ version }) => version === undefined)?.servers ?? 0;
  const [version] = known;
  if (version === undefined) return `${count(unknown, 'server')}, of unknown version`;
  if (state === 'unknown') return `${version}, and ${count(unknown, 'server')} of unknown version`;
  return state === 'differing' ? `All on ${version}, but they differ` : `All on ${version}`;
}

function explanation(
  { state }: UpgradeState,
  { differingRows }: ServedMatrix,
  status: RouterStatus,
  without: Unserved,
): string {
  const unknown = state === 'unknown' ? 'Whether an upgrade is in progress is not known. ' : '';
  if (differingRows === 0) return `${unknown}Every server serves the same.`;
  const notServed = without.everything ? differingRows : without.resources.length;
  const differs = `${count(differingRows, 'resource is', 'resources are')} not served by every server; ${reroutingText(status, differingRows, notServed)}.`;
  return state === 'differing'
    ? `No upgrade: look for feature gates and --runtime-config. ${differs}`
    : `${unknown}${differs}`;
}

/** Decoration: the list beside it says the same in words. Widths are attributes, since the page allows no style. */
function bar({ shares, servers }: UpgradeState, colourOf: VersionColours): Markup {
  let start = 0;
  const segments = shares.map(({ version, servers: number }) => {
    const x = start;
    start += number;
    return html`<rect x="${x}" y="0" width="${number}" height="1" class="${colourOf(version)}"/>`;
  });
  const gaps = shares.slice(1).map((_, index) => {
    const x = shares.slice(0, index + 1).reduce((sum, { servers: number }) => sum + number, 0);
    return html`<line x1="${x}" x2="${x}" y1="0" y2="1" class="gap"/>`;
  });
  return html`<svg class="bar" viewBox="0 0 ${servers} 1" preserveAspectRatio="none" aria-hidden="true" focusable="false">${segments}${gaps}</svg>`;
}
