import { html, raw } from 'hono/html';
import { clientScript, clientStyle } from './client-assets.ts';
import { clusterView } from './cluster-view.ts';
import { conflictsSection } from './conflicts-section.ts';
import { decisionsSection } from './decisions-section.ts';
import { differencesSection, unchangedSection } from './differences-section.ts';
import { type Explained, explainSection, explanationFragment } from './explain-section.ts';
import { extensionsSection } from './extensions-section.ts';
import { timelineSection } from './history/timeline-section.ts';
import { trafficSection } from './history/traffic-section.ts';
import { useSection } from './history/use-section.ts';
import type { PageState } from './page-state.ts';
import { serversSection } from './servers-section.ts';
import { sharedSection } from './shared-section.ts';
import { summarySection } from './summary-section.ts';
import { unserved } from './unserved.ts';
import { unservedSection } from './unserved-section.ts';
import { upgradeSection } from './upgrade-section.ts';
import type { Markup } from './wording/markup.ts';
import { versionColours } from './wording/version-colours.ts';

/** Parts of the page that a reader may want to go to. */
const sections = [
  ['servers', 'API servers'],
  ['traffic', 'Last hour'],
  ['differences', 'What differs'],
  ['explain', 'Explain'],
  ['decisions', 'Live decisions'],
  ['conflicts', 'Conflicts'],
  ['shared', 'Served by all'],
] as const;

/** The whole page. */
export function pageDocument(state: PageState, explained: Explained | undefined): Markup {
  const { serverId } = state.status;
  const { hostnames } = clusterView(state.table);
  const router = serverId === null ? 'Gateway' : (hostnames.get(serverId) ?? serverId);
  const { overview, activity } = liveParts(state, undefined);
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
<div id="filter-field" class="field" hidden><label for="filter">Filter rows</label><input id="filter" type="search" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="server, version, resource, user agent …"><p id="filter-found" class="muted" role="status"></p></div>
<nav aria-label="Sections"><ul class="sections">${sections.map(([id, name]) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav>
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
${unservedSection(without)}
${upgradeSection(upgrade, matrix, status, colourOf)}
${serversSection(state, hostnames)}
${trafficSection(history, colourOf, hostnames, now)}
${timelineSection(history, hostnames, now)}
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
