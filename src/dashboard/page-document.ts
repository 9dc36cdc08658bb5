import { html, raw } from 'hono/html';
import { countDiffering } from '../own-paths/status/router-status.ts';
import { clientScript, clientStyle } from './client-assets.ts';
import { differencesSection, unchangedDifferences } from './differences-section.ts';
import { type Explained, explainSection, explanationMarkup } from './explain-section.ts';
import { timelineSection } from './history/timeline-section.ts';
import { trafficSection } from './history/traffic-section.ts';
import { useSection } from './history/use-section.ts';
import type { PageState } from './page-state.ts';
import { serversSection } from './servers-section.ts';
import { summarySection } from './summary-section.ts';
import { unserved, unservedSection } from './unserved.ts';
import { headline, nextStop, upgradeOf } from './upgrade.ts';
import { upgradeSection } from './upgrade-section.ts';
import { hostnamesOf, versionColours } from './wording/display-names.ts';
import type { Markup } from './wording/markup.ts';

export function pageDocument(state: PageState, explained: Explained | undefined): Markup {
  const { serverId } = state.status;
  const hostnames = hostnamesOf(state.status);
  const router = serverId === null ? 'Gateway' : (hostnames.get(serverId) ?? serverId);
  const { overview, navigation } = liveParts(state, undefined);
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
<nav aria-label="Sections">${navigation}</nav>
</header>
<main id="main" tabindex="-1">
<p id="outdated" class="card" hidden></p>
${overview}
${explainSection(explained)}
</main>
<p class="page-note">If the router is the trouble: <a href="docs/guides/emergency.md">the way round it</a>.</p>
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
  const { overview, navigation } = liveParts(state, knownGeneration);
  return html`${navigation}${overview}${explanationMarkup(explained)}`;
}

function liveParts(state: PageState, knownGeneration: number | undefined) {
  const { status, history, now } = state;
  const hostnames = hostnamesOf(status);
  const upgrade = upgradeOf(status, history?.timeline ?? []);
  const without = unserved(status);
  const next = nextStop(upgrade, status, hostnames);
  const colourOf = versionColours([
    ...upgrade.shares.map(({ version }) => version),
    ...(history?.versions.map(({ version }) => version) ?? []),
  ]);
  const isKnown = knownGeneration !== undefined && knownGeneration === status.snapshot?.generation;
  const differs = countDiffering(status.served) > 0;
  // Each with its name in the navigation, in the order of the page. Those that have nothing to show are empty.
  const sections: readonly Section[] = [
    ['servers', 'API servers', serversSection(state, hostnames, next)],
    ['clients', 'Who uses what differs', useSection(history, now, differs)],
    ['traffic', 'Last hour', trafficSection(history, colourOf, now)],
    ['timeline', 'Timeline', timelineSection(history, hostnames, now)],
    [
      'differences',
      'What differs',
      differs && isKnown ? unchangedDifferences() : differencesSection(status, hostnames),
    ],
  ];
  const listed = [...sections, ['explain', 'Explain', html`form`] as const];
  return {
    overview: html`<div id="overview" data-now="${now}" data-generation="${status.snapshot?.generation ?? ''}">
${unservedSection(without, status)}
${upgradeSection(state, upgrade, next, without, hostnames, colourOf)}
${summarySection(state, headline(upgrade), hostnames)}
${sections.map(([, , section]) => section)}
</div>`,
    navigation: html`<ul id="sections" class="sections">${listed
      .filter(([, , section]) => String(section) !== '')
      .map(([id, name]) => html`<li data-key="${id}"><a href="#${id}">${name}</a></li>`)}</ul>`,
  };
}

type Section = readonly [id: string, name: string, section: Markup];
