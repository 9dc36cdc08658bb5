import { html } from 'hono/html';
import type { RouterStatus } from '../own-paths/status/router-status.ts';
import type { ServedMatrix } from './served-matrix.ts';
import type { UpgradeState } from './upgrade-state.ts';
import { shortVersion } from './wording/display-names.ts';
import { count, type Markup } from './wording/markup.ts';
import { reroutingText } from './wording/rerouting-text.ts';
import type { VersionColours } from './wording/version-colours.ts';

/** Whether an upgrade is in progress, and how far it has come. Empty while no server is known. */
export function upgradeSection(
  upgrade: UpgradeState,
  matrix: ServedMatrix,
  status: RouterStatus,
  colourOf: VersionColours,
): Markup {
  const { state, shares, servers } = upgrade;
  if (servers === 0) return html``;
  return html`<section id="upgrade" class="card upgrade ${state}" aria-labelledby="upgrade-heading">
<h2 id="upgrade-heading">${heading(upgrade)}</h2>
<p>${explanation(upgrade, matrix, status)}${preference(status.preferredVersion)}</p>
${bar(upgrade, colourOf)}
<ul class="shares">${shares.map(
    ({ version, servers: number }) =>
      html`<li><span class="swatch ${colourOf(version)}" aria-hidden="true"></span><b>${version === undefined ? 'Version not known' : shortVersion(version)}</b> ${count(number, 'server')}</li>`,
  )}</ul>
</section>`;
}

function heading({ state, shares }: UpgradeState): string {
  const known = shares.flatMap(({ version }) => (version === undefined ? [] : [shortVersion(version)]));
  if (state === 'mixed') return `${count(known.length, 'version')} side by side`;
  const unknown = shares.find(({ version }) => version === undefined)?.servers ?? 0;
  const [version] = known;
  if (version === undefined) return `${count(unknown, 'server')}, of unknown version`;
  if (state === 'unknown') return `${version}, and ${count(unknown, 'server')} of unknown version`;
  return state === 'differing' ? `All on ${version}, but they differ` : `All on ${version}`;
}

function explanation({ state }: UpgradeState, { differingRows }: ServedMatrix, status: RouterStatus): string {
  const unknown = state === 'unknown' ? 'Whether an upgrade is in progress is not known. ' : '';
  if (differingRows === 0) return `${unknown}Every server serves the same.`;
  const differs = `${count(differingRows, 'resource is', 'resources are')} not served by every server; ${reroutingText(status)}.`;
  return state === 'differing'
    ? `No upgrade: look for feature gates and --runtime-config. ${differs}`
    : `${unknown}${differs}`;
}

/** Empty while it makes no difference. */
function preference({ configured, minor, enforcementDiffers }: RouterStatus['preferredVersion']): string {
  if (minor === null) return '';
  const how = configured === minor ? '' : ` (${configured})`;
  const writes = enforcementDiffers ? ', and every write: the servers enforce different policies' : '';
  return ` Version ${minor}${how} serves what servers understand differently${writes}.`;
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
