import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { fiftyServers, threeServers, upgradedServers } from './support/clusters.ts';
import { inChromium, passTimeUntil, startPageRouter, useChromium } from './support/status-page.ts';

/** First cells of the rows of a table that can be seen. */
function names(page: Page, table: string): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('${table} tbody tr')].filter((row) => row.checkVisibility()).map((row) => row.querySelector('.name, .nowrap').textContent)`,
  );
}

/** Waits until the page shows an update that comes after this. */
async function update(page: Page): Promise<void> {
  const shown = await page.locator('#overview').getAttribute('data-now');
  await passTimeUntil(page, page.locator(`#overview:not([data-now="${shown}"])`));
}

describe('rows of the status page', inChromium, () => {
  const browser = useChromium();

  it('are found by any word, folded ones too, and stay found with every update', async (context) => {
    const router = await startPageRouter(context);
    await router.push(fiftyServers(router.ports));
    const { page, complaints } = await router.open(browser());
    const filter = page.getByLabel('Filter rows');
    await filter.fill('control-plane-33.');
    assert.deepEqual(await names(page, '.servers'), ['control-plane-33.eu-central.example.com']);
    await page.getByText(/^1 of \d+ rows$/).waitFor();
    await update(page);
    assert.deepEqual(await names(page, '.servers'), ['control-plane-33.eu-central.example.com']);
    assert.equal(await filter.inputValue(), 'control-plane-33.');
    await filter.fill('group-3.example.com');
    assert.deepEqual(await names(page, '.servers'), []);
    const rows = await names(page, '.matrix');
    assert.ok(rows.length > 1 && rows.length < 10, rows.join());
    await filter.fill('');
    assert.equal((await names(page, '.servers')).length, 50);
    assert.deepEqual(complaints, []);
  });

  it('are all that stands there while they are looked for, with every update', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page, complaints } = await router.open(browser());
    const sections = page.locator('main section:visible');
    const all = await sections.count();
    const filter = page.getByLabel('Filter rows');
    for (const [looked, found, rows] of [
      ['nosuchrow', [], /^0 of \d+ rows$/],
      ['podsecuritypolicies', ['differences'], /^1 of \d+ rows$/],
    ] as const) {
      await filter.fill(looked);
      for (const when of ['at once', 'after an update']) {
        await page.getByText(rows).waitFor();
        const shown = await sections.evaluateAll((those) => those.map(({ id }) => id));
        assert.deepEqual(shown, found, when);
        assert.equal(await page.locator('main thead:visible').count(), found.length, when);
        await update(page);
      }
    }
    await filter.fill('');
    assert.equal(await sections.count(), all);
    assert.deepEqual(complaints, []);
  });

  it('are counted, and fade on the sides where there are more than can be seen', async (context) => {
    const router = await startPageRouter(context);
    await router.push(fiftyServers(router.ports));
    const { page } = await router.open(browser(), { width: 390 });
    await page
      .locator('#differences .legend')
      .getByText(/^\d+ rows, \d+ columns$/)
      .waitFor();
    const region = page.getByRole('region', { name: 'Table of what differs' });
    const [rows, columns] = [
      await page.locator('.matrix tbody tr:not(:has(th[scope=rowgroup]))').count(),
      await page.locator('.matrix thead th').count(),
    ];
    await page.getByText(`${rows} rows, ${columns - 1} columns`, { exact: true }).waitFor();
    for (const when of ['at once', 'after an update']) {
      assert.deepEqual(
        await region.evaluate((element) => [
          element.hasAttribute('data-more-below'),
          element.hasAttribute('data-more-right'),
        ]),
        [true, true],
        when,
      );
      await update(page);
    }
    await region.evaluate((element) => element.scrollTo(element.scrollWidth, element.scrollHeight));
    await page
      .locator('.scroll:has(.matrix):not([data-more-below], [data-more-right])')
      .waitFor({ state: 'attached' });
  });

  it('are sorted by a column, by keyboard, one way and the other, and stay so with every update', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page } = await router.open(browser());
    const byVersion = page.locator('.servers th').filter({ hasText: 'Version' });
    const button = byVersion.getByRole('button');
    await button.focus();
    await page.keyboard.press('Enter');
    assert.equal(await byVersion.getAttribute('aria-sort'), 'ascending');
    await page.keyboard.press('Enter');
    assert.equal(await byVersion.getAttribute('aria-sort'), 'descending');
    assert.equal((await names(page, '.servers'))[0], 'control-plane-3');
    await update(page);
    assert.equal((await names(page, '.servers'))[0], 'control-plane-3');
    assert.equal(await byVersion.getAttribute('aria-sort'), 'descending');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Version');
  });

  it('have the heads of the snapshot that they are of', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page } = await router.open(browser());
    const heads = page.locator('.matrix thead th');
    assert.match((await heads.nth(2).textContent()) ?? '', /v1\.36\.0.*control-plane-3/);
    const { servers, ...rest } = upgradedServers(router.ports);
    const [first, ...others] = servers;
    const older = threeServers(router.ports);
    const [old] = older.servers;
    assert.ok(first !== undefined && old !== undefined);
    await router.push({
      ...rest,
      servers: [{ ...old, version: 'v1.35.9' }, ...others],
      servedSets: { ...older.servedSets, ...rest.servedSets },
    });
    await passTimeUntil(page, heads.filter({ hasText: 'v1.35.9' }));
    assert.equal(await heads.filter({ hasText: 'v1.25.16' }).count(), 0);
    assert.match((await heads.nth(2).textContent()) ?? '', /v1\.36\.0.*2 servers/);
  });

  it('are all on paper, without what can only be pressed', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page } = await router.open(browser(), { colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print' });
    for (const hidden of ['#live-toggle', '#filter', '#explain', 'nav']) {
      assert.equal(await page.locator(hidden).isVisible(), false, hidden);
    }
    assert.equal(
      await page.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowY"),
      'visible',
    );
    // Dark ink on paper, whatever the screen has.
    assert.equal(await page.evaluate('getComputedStyle(document.body).color'), 'rgb(23, 32, 44)');
    assert.ok((await page.pdf()).byteLength > 10_000);
  });
});
