import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { fiftyServers, threeServers } from './support/clusters.ts';
import { inChromium, keepPicture, startPageRouter, useChromium } from './support/status-page.ts';

/**
 * Texts and shapes of the page that do not stand out enough from what is behind them: 4.5 to 1 for text, 3 to 1 for
 * shapes that mean something and borders of controls (WCAG 2.2, 1.4.3 and 1.4.11). Computed from the styles in force.
 * The drawings of requests are decoration: tables beside them say the same.
 */
function contrastFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(${findContrastFaults})()`);
}

/** Runs in the page, so that it must not use anything from around it. */
const findContrastFaults = String.raw`() => {
  const parse = (color) => {
    const [r = 0, g = 0, b = 0, a = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    return { r, g, b, a };
  };
  const over = (top, bottom) => ({
    r: top.r * top.a + bottom.r * (1 - top.a),
    g: top.g * top.a + bottom.g * (1 - top.a),
    b: top.b * top.a + bottom.b * (1 - top.a),
    a: 1,
  });
  const groundOf = (element) => {
    if (element === null) return { r: 255, g: 255, b: 255, a: 1 };
    const color = parse(getComputedStyle(element).backgroundColor);
    return color.a === 1 ? color : over(color, groundOf(element.parentElement));
  };
  const luminance = ({ r, g, b }) => {
    const [red, green, blue] = [r, g, b].map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((left, right) => right - left);
    return (light + 0.05) / (dark + 0.05);
  };
  const faults = new Set();
  const require = (element, color, ground, least, what) => {
    const found = contrast(over(parse(color), ground), ground);
    if (found < least) {
      faults.add(what + ' of ' + element.localName + '.' + element.getAttribute('class') + ': ' + found.toFixed(2));
    }
  };
  for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (hasText) require(element, style.color, groundOf(element), 4.5, 'text');
    if (element.localName === 'path' && element.closest('.traffic, .sparkline') === null) require(element, style.fill, groundOf(element), 3, 'shape');
    if (['input', 'select', 'button'].includes(element.localName)) {
      require(element, style.borderColor, groundOf(element.parentElement), 3, 'border');
      require(element, style.color, groundOf(element), 4.5, 'text');
    }
  }
  return [...faults];
}`;

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
