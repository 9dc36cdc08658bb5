import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { fiftyServers, threeServers } from './support/clusters.ts';
import { inChromium, startPageRouter, useChromium } from './support/status-page.ts';

/** Faults that a screen reader or a keyboard would stumble over, as far as a program can tell. */
function accessibilityFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(${findFaults})()`);
}

/** Runs in the page, so that it must not use anything from around it. */
const findFaults = `() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const fault = (element, text) => faults.push(element.outerHTML.slice(0, 120) + ': ' + text);
  const nameOf = (element) => {
    const labelledBy = element.getAttribute('aria-labelledby');
    if (labelledBy !== null) return document.getElementById(labelledBy)?.textContent.trim() ?? '';
    return element.getAttribute('aria-label') ?? '';
  };

  if (document.documentElement.lang === '') faults.push('the document has no language');
  if (document.title.trim() === '') faults.push('the document has no title');
  for (const landmark of ['header', 'nav', 'main']) {
    if (all('body > ' + landmark + ', body > header ' + landmark).length !== 1) faults.push('not one ' + landmark);
  }
  if (all('h1').length !== 1) faults.push('not one h1');
  let level = 1;
  for (const heading of all('h1, h2, h3, h4, h5, h6')) {
    const next = Number(heading.localName.slice(1));
    if (next > level + 1) fault(heading, 'skips a level of headings');
    if (heading.textContent.trim() === '') fault(heading, 'is empty');
    level = next;
  }
  const ids = all('[id]').map(({ id }) => id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push('two elements #' + id);
  for (const element of all('[aria-labelledby], [aria-describedby]')) {
    for (const attribute of ['aria-labelledby', 'aria-describedby']) {
      const id = element.getAttribute(attribute);
      if (id !== null && document.getElementById(id) === null) fault(element, attribute + ' leads nowhere');
    }
  }
  for (const element of all('section, nav, [role=region]')) if (nameOf(element) === '') fault(element, 'has no name');
  // As axe-core's landmark-unique: who jumps from one to the next must be able to tell them apart.
  const regions = all('section, [role=region]').map(nameOf);
  for (const name of new Set(regions)) {
    if (regions.filter((other) => other === name).length > 1) faults.push('two regions are called ' + name);
  }
  for (const control of all('input, select, textarea')) {
    if (control.labels.length === 0) fault(control, 'has no label');
  }
  for (const button of all('button, a, summary')) if (button.textContent.trim() === '') fault(button, 'says nothing');
  for (const link of all('a[href^="#"]')) {
    if (document.getElementById(link.hash.slice(1)) === null) fault(link, 'leads nowhere');
  }
  for (const table of all('table')) {
    if ((table.caption?.textContent.trim() ?? '') === '') fault(table, 'has no caption');
    for (const head of table.querySelectorAll('th')) {
      if (!['col', 'row', 'rowgroup'].includes(head.scope)) fault(head, 'has no scope');
    }
    for (const row of table.querySelectorAll('tbody tr')) {
      if (row.querySelector('th') === null) fault(row, 'has no row header');
    }
    for (const cell of table.querySelectorAll('td')) if (cell.textContent.trim() === '') fault(cell, 'is empty');
  }
  for (const svg of all('svg')) if (svg.getAttribute('aria-hidden') !== 'true') fault(svg, 'has no name and is not hidden');
  for (const element of all('[tabindex]')) if (element.tabIndex > 0) fault(element, 'changes the order of focus');
  for (const element of all('.scroll')) {
    if (element.tabIndex !== 0) fault(element, 'cannot be scrolled by keyboard');
  }
  return faults;
}`;

interface Focused {
  /** Kind of the element, and its text. */
  readonly name: string;
  readonly outline: string;
}

/** The element that has the focus; with its outline, since a focus that cannot be seen is none. */
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
    await page.locator('#explanation [role=status]', { hasText: 'it serves the resource' }).waitFor();
  });

  it('tells a screen reader of news in one sentence, and of the passing of time nothing', async (context) => {
    const router = await startPageRouter(context);
    await router.push(threeServers(router.ports));
    const { page } = await router.open(browser());
    const summary = page.locator('#summary [role=status]');
    assert.equal(await summary.textContent(), 'The router is ready. 1.25 → 1.36: 1 of 3 servers.');
    assert.equal(await page.locator('[aria-live], [role=status]').locator('time').count(), 0);
  });
});
