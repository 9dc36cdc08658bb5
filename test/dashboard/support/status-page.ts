import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import type { Answer } from '../../support/clients/tls-client.ts';
import { type StartedRouter, startRouterWithFiles } from '../../support/routers/started-router.ts';
import { chromiumMissing, launchChromium } from './chromium.ts';
import type { Ports } from './clusters.ts';

/** For `describe`: runs where there is a browser, and says what is missing elsewhere. */
export const inChromium = { skip: chromiumMissing() ?? false };

/** One browser for all tests of a file; to be called in their `describe`. */
export function useChromium(): () => Browser {
  let browser: Browser | undefined;
  before(async () => {
    browser = await launchChromium();
  });
  after(() => browser?.close());
  return () => {
    assert.ok(browser, 'before() starts it');
    return browser;
  };
}

/** A page in a browser, with everything that must not happen on it. */
export interface OpenedPage {
  readonly page: Page;
  /** Errors and warnings of the console, broken content security policies among them. */
  readonly complaints: readonly string[];
  /** URLs that the page asked for. */
  readonly requested: readonly string[];
}

export type OpenOptions = Pick<BrowserContextOptions, 'colorScheme' | 'javaScriptEnabled'> & {
  readonly width?: number;
  readonly height?: number;
  /** Behind `/.mixed-version-proxy/`. */
  readonly query?: string;
};

/** Opens a page in a context of its own, closed at the end of the test. */
export async function openPage(
  context: TestContext,
  browser: Browser,
  url: string,
  { width = 1280, height = 900, query = '', ...options }: OpenOptions,
  extra: BrowserContextOptions = {},
  prepare: (page: Page) => Promise<unknown> = async () => {},
): Promise<OpenedPage> {
  const browserContext = await browser.newContext({
    viewport: { width, height },
    reducedMotion: 'reduce',
    ...options,
    ...extra,
  });
  context.after(() => browserContext.close());
  const page = await browserContext.newPage();
  // Time passes as ever, and can be made to pass faster: nobody waits for the next update.
  await page.clock.install();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  const requested: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => requested.push(request.url()));
  await prepare(page);
  const response = await page.goto(`${url}${query}`);
  assert.equal(response?.status(), 200);
  return { page, complaints, requested };
}

export interface PageRouter {
  readonly origin: string;
  readonly authorities: StartedRouter['authorities'];
  readonly ports: Ports;
  /** As a super-user, past the browser. */
  ask(target: string): Promise<Answer>;
  push(snapshot: Snapshot): Promise<void>;
  /** The status page with a super-user's client certificate. */
  open(browser: Browser, options?: OpenOptions): Promise<OpenedPage>;
}

/** A router as `serve` starts it, with TLS and client certificates, and the page that it shows. */
export async function startPageRouter(context: TestContext): Promise<PageRouter> {
  const started = await startRouterWithFiles(context, {
    flags: { 'allow-loopback-peers': ['true'], 'health-check-interval': ['500ms'] },
  });
  const { port, authorities } = started;
  const origin = `https://127.0.0.1:${port}`;
  const { pair, ask, push } = await started.asUser();
  return {
    origin,
    authorities,
    ports: { local: started.apiServer.port },
    ask,
    async push(snapshot) {
      const { status, text } = await push(snapshot);
      assert.ok(status === 200 || status === 201, text);
    },
    open: (browser, options = {}) =>
      openPage(context, browser, `${origin}/.mixed-version-proxy/`, options, {
        // Chromium knows the router's authority no more than an operator's browser does.
        ignoreHTTPSErrors: true,
        clientCertificates: [{ origin, cert: Buffer.from(pair.chain), key: Buffer.from(pair.privateKey) }],
      }),
  };
}

/**
 * Makes time pass on the page, and so one update come after the other, until `locator` finds something. How long an
 * answer takes is not the page's time, so that one jump may come too early for the next update.
 */
export async function passTimeUntil(page: Page, locator: Locator): Promise<void> {
  for (let jump = 0; jump < 100; jump++) {
    if ((await locator.count()) > 0) return;
    await passTime(page);
    await page.waitForTimeout(50);
  }
  assert.fail(`no update brought ${locator}`);
}

/** Longer than the page ever waits for its next update. */
export function passTime(page: Page): Promise<void> {
  return page.clock.runFor(31_000);
}

/** Keeps a picture for people to look at where `STATUS_PAGE_PICTURES` names a folder. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['STATUS_PAGE_PICTURES'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
