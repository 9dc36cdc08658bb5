import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { fiftyServers, threeServers } from './support/clusters.ts';
import { contrastFaults } from './support/contrast.ts';
import { inChromium, keepPicture, startPageRouter, useChromium } from './support/status-page.ts';

const explained = '?method=GET&url=/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
const clusters = { 'three-servers': threeServers, 'fifty-servers': fiftyServers };

/** Pixels by which the page is wider than what can be seen of it. */
function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

describe('the status page', inChromium, () => {
  const browser = useChromium();

  for (const [name, snapshotOf] of Object.entries(clusters)) {
    it(`of ${name} fits desktop, phone and the narrowest screen, can be read in light and dark, and asks nobody else`, async (context) => {
      const router = await startPageRouter(context);
      await router.push(snapshotOf(router.ports));
      await router.ask('/api/v1/namespaces/default/pods?limit=500');
      await router.ask('/apis/batch/v1/namespaces/default/cronjobs');
      await router.ask('/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas');
      await router.ask('/apis/example.com/v1/nosuch');
      const { page, complaints, requested } = await router.open(browser(), { query: explained });
      await page.locator('#live-state[data-state=live]').waitFor();
      for (const width of [1280, 375, 320]) {
        await page.setViewportSize({ width, height: 900 });
        assert.equal(await overflow(page), 0, `${width} pixels`);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          assert.deepEqual(await contrastFaults(page), [], `${width} pixels, ${colorScheme}`);
          await keepPicture(page, `${name}-${width}-${colorScheme}`);
        }
      }
      assert.deepEqual(complaints, []);
      for (const url of requested) assert.ok(url.startsWith(`${router.origin}/.mixed-version-proxy/`), url);
    });
  }

  it('cuts no end of the chart at any width', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    await router.ask('/api/v1/namespaces/default/pods');
    const { page } = await router.open(browser());
    await page.locator('.axis').waitFor();
    for (const width of [1280, 390, 320]) {
      await page.setViewportSize({ width, height: 900 });
      const lines = await page.evaluate(
        "['first', 'last'].map((end) => { const range = document.createRange(); range.selectNodeContents(document.querySelector('.axis > :' + end + '-child')); return range.getClientRects().length; })",
      );
      assert.deepEqual(lines, [1, 1], `${width} pixels`);
    }
  });

  it('breaks no head of a table within a word', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    await router.ask('/api/v1/namespaces/default/pods');
    const { page } = await router.open(browser());
    await page.locator('.traffic-table').first().waitFor();
    for (const width of [800, 718]) {
      await page.setViewportSize({ width, height: 900 });
      const broken = await page.evaluate(`[...document.querySelectorAll('.stacking thead th')]
        .filter((head) => head.checkVisibility() && !head.textContent.includes(' '))
        .filter((head) => {
          const text = document.createTreeWalker(head, NodeFilter.SHOW_TEXT).nextNode();
          const range = document.createRange();
          range.selectNodeContents(text);
          return range.getClientRects().length > 1;
        })
        .map((head) => head.textContent)`);
      assert.deepEqual(broken, [], `${width} pixels`);
    }
  });

  it('of a version of 512 characters is no wider than the screen', async (context) => {
    const router = await startPageRouter(context);
    const version = `v1.36.0-${'x'.repeat(504)}`;
    const snapshot = threeServers(router.ports);
    await router.push({ ...snapshot, servers: snapshot.servers.map((server) => ({ ...server, version })) });
    const { page } = await router.open(browser());
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 900 });
      assert.equal(await overflow(page), 0, `${width} pixels`);
      await keepPicture(page, `long-version-${width}`);
    }
  });

  it('can be read before there has been any snapshot', async (context) => {
    const router = await startPageRouter(context);
    const { page, complaints } = await router.open(browser(), { width: 375 });
    await page.getByText('Is the sync job running?', { exact: true }).waitFor();
    await page.getByText('Not ready', { exact: true }).first().waitFor();
    assert.equal(await overflow(page), 0);
    await keepPicture(page, 'no-snapshot');
    assert.deepEqual(complaints, []);
  });
});
