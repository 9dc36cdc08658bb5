import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityFaults } from './support/accessibility.ts';
import { fiftyServers, threeServers } from './support/clusters.ts';
import { inChromium, startPageRouter, useChromium } from './support/status-page.ts';

interface Focused {
  /** What it is and what it says. */
  readonly name: string;
  readonly outline: string;
}

/** What has the focus; with its outline, since one that cannot be seen is none. */
const focused = `(() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const name = element.id || element.getAttribute('aria-label') || element.textContent.trim();
  return { name: element.localName + ' ' + name, outline: outlineStyle + ' ' + outlineWidth };
})()`;

/** Presses Tab until the focus leaves the page. */
async function walk(page: Page): Promise<readonly Focused[]> {
  const stops: Focused[] = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate<Focused>(focused);
    if (stop.name.startsWith('body') || stops.length > 200) return stops;
    stops.push(stop);
  }
}

describe('the status page', inChromium, () => {
  const browser = useChromium();

  it('has landmarks, headings, labels, captions and scopes in order, with three servers and with fifty', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports, 7));
    await router.ask('/api/v1/namespaces/default/pods');
    const query = '?url=/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
    const { page } = await router.open(browser(), { query });
    await page.locator('#live-state[data-state=live]').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await router.push(fiftyServers(router.ports, 8));
    await page.reload();
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  it('can be used by keyboard alone: everything is reached in order, and the focus can be seen', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    await router.ask('/api/v1/namespaces/default/pods');
    const { page } = await router.open(browser());
    await page.locator('#live-toggle:not([hidden])').waitFor();

    const stops = await walk(page);
    const names = stops.map(({ name }) => name);
    const expected = [
      'a Skip to the content',
      'button live-toggle',
      'a API servers',
      'div Table of what differs',
      'select explain-method',
      'input explain-url',
    ];
    const found = expected.map((name) => names.findIndex((other) => other.replace(/\s+/g, ' ') === name));
    assert.deepEqual(
      found.filter((index, place) => index <= (found[place - 1] ?? -1)),
      [],
      names.join('; '),
    );
    for (const { name, outline } of stops) assert.match(outline, /^(solid|auto) [1-9]/, name);

    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');

    await page.locator('#explain-url').focus();
    await page.keyboard.type('/api/v1/pods');
    await page.keyboard.press('Enter');
    await page.locator('#explanation-outcome', { hasText: 'ServedLocally' }).waitFor();
    assert.equal(await page.evaluate('document.activeElement.id'), 'explain-url');
  });

  it('tells a screen reader of news in one sentence, and of the passing of time nothing', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page } = await router.open(browser());
    const summary = page.locator('#summary [role=status]');
    assert.equal(
      await summary.textContent(),
      'The router is ready. 3 API servers, none of them unhealthy. They run 2 versions.',
    );
    assert.equal(await page.locator('[aria-live], [role=status]').locator('time').count(), 0);
  });
});
