import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusPage } from '../../src/dashboard/status-page.ts';
import { hostileSources, hostileText } from './support/hostile-state.ts';
import { inChromium, openPage, passTimeUntil, useChromium } from './support/status-page.ts';

const url = 'https://router.test/.mixed-version-proxy/';

describe('a status page full of hostile names', inChromium, () => {
  const browser = useChromium();

  it('runs none of them, adds no element and no attribute, and shows each as the text that it is', async (context) => {
    const sources = hostileSources();
    const query = `?method=${encodeURIComponent(hostileText('method'))}&url=${encodeURIComponent(hostileText('url'))}`;
    // In place of a router: no snapshot with such names would be taken, nor such a path.
    const { page, complaints, requested } = await openPage(context, browser(), url, { query }, {}, (opened) =>
      opened.route('**/*', async (route) => {
        const asked = new URL(route.request().url());
        const parameters = Object.fromEntries(asked.searchParams);
        const answer = await statusPage(asked.pathname, parameters, sources);
        assert.ok(answer, asked.href);
        await route.fulfill({
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
          body: await answer.text(),
        });
      }),
    );
    for (const update of [false, true]) {
      if (update) {
        // An update takes off what the router has not sent.
        await page.evaluate("document.querySelector('#overview').setAttribute('data-old', '')");
        assert.equal(await page.locator('#overview[data-old]').count(), 1);
        await passTimeUntil(page, page.locator('#overview:not([data-old])'));
      }
      assert.equal(await page.evaluate('globalThis.attacked'), undefined);
      assert.equal(await page.locator('script').count(), 1);
      assert.equal(await page.locator('img, iframe, object, embed, base, [onerror], [onload]').count(), 0);
      const text = await page.evaluate<string>(
        `document.body.textContent + [...document.querySelectorAll("input")].map(({ value }) => value)
          + [...document.querySelectorAll("a.see")].map((link) => link.getAttribute("href"))`,
      );
      for (const field of sources.fields) assert.ok(text.includes(hostileText(field)), field);
    }
    assert.deepEqual(complaints, []);
    for (const asked of requested) assert.ok(asked.startsWith(url), asked);
  });
});
