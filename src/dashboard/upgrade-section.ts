import { html } from 'hono/html';
import type { RouterStatus } from '../own-paths/status/router-status.ts';
import { count, type Markup } from './markup.ts';
import type { ServedMatrix } from './served-matrix.ts';
import type { UpgradeState } from './upgrade-state.ts';

/** Shades that the bar has (status-page.css). */
const shades = 5;

/** Whether an upgrade is in progress, and how far it has come. Empty while no server is known. */
export function upgradeSection(
  upgrade: UpgradeState,
  matrix: ServedMatrix,
  preferredVersion: RouterStatus['preferredVersion'],
): Markup {
  const { state, shares, servers } = upgrade;
  if (servers === 0) return html``;
  return html`<section id="upgrade" class="card upgrade ${state}" aria-labelledby="upgrade-heading">
<h2 id="upgrade-heading">${heading(upgrade)}</h2>
<p>${explanation(upgrade, matrix)}${preference(preferredVersion)}</p>
${bar(upgrade)}
<ul class="shares">${shares.map(
    ({ version, servers: number }, index) =>
      html`<li><span class="swatch shade-${shadeOf(index, shares.length)}" aria-hidden="true"></span><b>${version ?? 'Version not known'}</b> ${count(number, 'server')}</li>`,
  )}</ul>
</section>`;
}

function heading({ state, shares }: UpgradeState): string {
  if (state === 'mixed') return `${count(shares.length, 'version')} side by side`;
  const version = shares[0]?.version ?? 'one version';
  return state === 'differing' ? `All on ${version}, but they differ` : `All on ${version}`;
}

function explanation({ state }: UpgradeState, { differingRows }: ServedMatrix): string {
  if (state === 'uniform') return 'Every server serves the same. Nothing has to be sent on.';
  if (differingRows === 0) return 'An upgrade is in progress. So far every server serves the same resources.';
  const differs = `${count(differingRows, 'resource is', 'resources are')} not served by every server; requests for them go to one that does.`;
  return state === 'mixed'
    ? `An upgrade is in progress. ${differs}`
    : `No upgrade: look for feature gates and --runtime-config. ${differs}`;
}

/** Empty while it makes no difference. */
function preference({ configured, minor, enforcementDiffers }: RouterStatus['preferredVersion']): string {
  if (minor === null) return '';
  const how = configured === minor ? '' : ` (${configured})`;
  const writes = enforcementDiffers ? ', and every write: the servers enforce different policies' : '';
  return ` Version ${minor}${how} serves what servers understand differently${writes}.`;
}

/** Decoration: the list beside it says the same in words. Widths are attributes, since the page allows no style. */
function bar({ shares, servers }: UpgradeState): Markup {
  let start = 0;
  const segments = shares.map(({ servers: number }, index) => {
    const x = start;
    start += number;
    return html`<rect x="${x}" y="0" width="${number}" height="1" class="shade-${shadeOf(index, shares.length)}"/>`;
  });
  const gaps = shares.slice(1).map((_, index) => {
    const x = shares.slice(0, index + 1).reduce((sum, { servers: number }) => sum + number, 0);
    return html`<line x1="${x}" x2="${x}" y1="0" y2="1" class="gap"/>`;
  });
  return html`<svg class="bar" viewBox="0 0 ${servers} 1" preserveAspectRatio="none" aria-hidden="true" focusable="false">${segments}${gaps}</svg>`;
}

/** The newest has the strongest shade; more versions than shades share the faintest. */
function shadeOf(index: number, versions: number): number {
  return Math.max(0, shades - versions + index);
}
