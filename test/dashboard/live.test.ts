import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { threeServers, upgradedServers } from './support/clusters.ts';
import { inChromium, passTime, passTimeUntil, startPageRouter, useChromium } from './support/status-page.ts';

describe('the status page, live', inChromium, () => {
  const browser = useChromium();

  it('shows an upgrade that ends without a reload, and keeps what the reader was at', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page, complaints } = await router.open(browser(), { height: 500 });
    await page.getByRole('heading', { name: '1.25 → 1.36: 1 of 3 servers' }).waitFor();
    await page.getByRole('rowheader', { name: 'podsecuritypolicies v1beta1' }).waitFor();

    await page.evaluate('globalThis.isTheSamePage = true');
    const fold = page.locator('details[data-key="column-0"]');
    await fold.locator('summary').click();
    const url = page.locator('#explain-url');
    await url.fill('/apis/batch');
    const scrolled = await page.evaluate<number>('scrollY');
    assert.notEqual(scrolled, 0);

    await router.push(threeServers(router.ports, 8));
    await passTimeUntil(page, page.locator('#overview[data-generation="8"]'));
    assert.equal(await fold.getAttribute('open'), '');
    await router.push(upgradedServers(router.ports, 9));
    await passTimeUntil(page, page.getByRole('heading', { name: 'All 3 servers run v1.36.0' }));
    await page.getByText('Every server serves the same.').waitFor({ state: 'attached' });
    assert.equal(await page.locator('#differences, a[href="#differences"]').count(), 0);
    assert.equal(await page.evaluate('globalThis.isTheSamePage'), true);
    assert.equal(await page.evaluate('document.activeElement.id'), 'explain-url');
    assert.equal(await url.inputValue(), '/apis/batch');
    assert.deepEqual(complaints, []);
  });

  it('stops while it is paused, and goes on afterwards', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page, requested } = await router.open(browser());
    const update = page.waitForRequest(/live\?generation=7$/);
    await passTime(page);
    await update;
    assert.equal(await page.getByRole('rowheader', { name: 'podsecuritypolicies v1beta1' }).count(), 1);

    await page.getByRole('button', { name: 'Pause updates' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await router.push(upgradedServers(router.ports));
    const asked = requested.length;
    await passTime(page);
    assert.equal(requested.length, asked);
    assert.equal(await page.getByRole('heading', { name: '1.25 → 1.36: 1 of 3 servers' }).count(), 1);

    await page.getByRole('button', { name: 'Resume updates' }).click();
    await passTimeUntil(page, page.getByRole('heading', { name: 'All 3 servers run v1.36.0' }));
  });

  it('says that it is not live while the router does not respond, and is live again when it does', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page } = await router.open(browser());
    await page.route('**/live?*', (route) => route.abort());
    await passTimeUntil(page, page.getByText('Not live: the router does not respond'));
    // Nothing is said to be well, nothing grows older, and it says as of when it is.
    const colour = () =>
      page.evaluate<string>("getComputedStyle(document.querySelector('#summary .badge')).color");
    const whileLost = await colour();
    await page.getByText(/^Everything below is as of .*\d+:\d+:\d+.*It may have changed since\.$/).waitFor();
    const age = page.locator('#summary time[data-age]').first();
    const shownAge = await age.textContent();
    await passTime(page);
    assert.equal(await age.textContent(), shownAge);

    const answers = (answer: { status: number; body: string; contentType?: string }) =>
      page.unroute('**/live?*').then(() => page.route('**/live?*', (route) => route.fulfill(answer)));
    await answers({ status: 403, body: 'Forbidden' });
    await passTimeUntil(page, page.getByText('Not live: the response is 403.'));
    await answers({ status: 200, body: '<p>Log in</p>', contentType: 'text/html' });
    await passTimeUntil(page, page.getByText('Not live: what responds is not this page'));

    await page.unroute('**/live?*');
    await passTimeUntil(page, page.getByText('Live', { exact: true }));
    assert.notEqual(await colour(), whileLost);
    assert.equal(await page.locator('#outdated').isVisible(), false);
  });
});

describe('the explain box', inChromium, () => {
  const browser = useChromium();
  const path = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';

  for (const javaScriptEnabled of [true, false]) {
    it(`walks the rules of a request with${javaScriptEnabled ? '' : 'out'} a script`, async (context) => {
      const router = await startPageRouter(context);
      await router.push(threeServers(router.ports));
      const { page, complaints } = await router.open(browser(), { javaScriptEnabled });
      await page.getByLabel('Method').selectOption('POST');
      await page.getByLabel('Path or URL').fill(path);
      await page.getByRole('button', { name: 'Explain' }).click();

      await page
        .locator('#explanation [role=status]', { hasText: /^Goes to .+: .+ does not serve the resource\.$/ })
        .waitFor();
      const text = (await page.locator('#explanation pre').textContent()) ?? '';
      assert.match(text, /^ {2}-> 7 Does a peer serve it\? Yes: reachable: control-plane-3$/m);
      assert.match(text, /^ {2}verb: +create$/m);
      assert.match(text, /^Candidates:\n {2}control-plane-3 \(cp-c\) /m);
      assert.equal(await page.getByLabel('Path or URL').inputValue(), path);
      assert.equal(await page.getByLabel('Method').inputValue(), 'POST');
      assert.equal(new URL(page.url()).searchParams.get('url'), path);
      assert.deepEqual(complaints, []);
    });
  }

  it('explains anew when the snapshot has moved on', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page } = await router.open(browser(), { query: `?method=GET&url=${path}` });
    const outcome = page.locator('#explanation [role=status]');
    await outcome.filter({ hasText: 'does not serve the resource' }).waitFor();
    await router.push(upgradedServers(router.ports));
    await passTimeUntil(page, outcome.filter({ hasText: 'it serves the resource' }));
    await page.getByText(/Snapshot: +generation 8 /).waitFor();
  });

  it('says why a request would be refused', async (context) => {
    const router = await startPageRouter(context);
    const { page } = await router.open(browser());
    await page.getByLabel('Path or URL').fill('/api/v1/../pods');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.locator('#explanation [role=status]', { hasText: /^Is refused: / }).waitFor();
  });

  it('has the heads of the snapshot that its columns are of', async (context) => {
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
});
