/**
 * Writes the pictures of README.md and docs/guides/status-page.md from a running demo: `npm run docs:screenshots`, which
 * takes that of the last hour as well (take-history-picture.ts).
 * Needs Chromium (`apt-get install chromium`).
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { type RunningDemo, runDemo } from '../../demo/run-demo.ts';
import { getText } from '../harness/get-text.ts';
import { chromiumMissing, launchChromium } from './chromium.ts';

const images = resolve(import.meta.dirname, '../../docs/images');
const pagePath = '/.mixed-version-proxy/?method=GET&url=/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';

interface Picture {
  readonly name: string;
  readonly options: BrowserContextOptions;
  /** What of the page; default: what can be seen of it at first. */
  readonly part?: string;
}

const pictures: readonly Picture[] = [
  {
    name: 'status-overview.png',
    options: { viewport: { width: 1280, height: 1060 }, colorScheme: 'light' },
  },
  // The README shows the one that the reader's colour scheme asks for.
  {
    name: 'status-overview-dark.png',
    options: { viewport: { width: 1280, height: 1060 }, colorScheme: 'dark' },
  },
  {
    name: 'status-explain.png',
    options: { viewport: { width: 1280, height: 1000 }, colorScheme: 'dark' },
    part: '#explain',
  },
  { name: 'status-phone.png', options: { viewport: { width: 375, height: 812 }, colorScheme: 'dark' } },
];

/** Requests that the page is to show as decided. */
const requests = [
  '/api/v1/namespaces/default/pods',
  '/apis/batch/v1/namespaces/default/cronjobs',
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  '/apis/policy/v1beta1/podsecuritypolicies',
  '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers',
  '/apis/resource.k8s.io/v1/deviceclasses',
  '/apis/example.com/v1/nosuch',
];

const missing = chromiumMissing();
if (missing !== undefined) throw new Error(missing);
const directory = await mkdtemp(join(tmpdir(), 'status-page-'));
const ending = new AbortController();
try {
  await runDemo({
    directory: join(directory, '.demo'),
    signal: ending.signal,
    async onReady(demo) {
      await takePictures(demo).finally(() => ending.abort());
    },
  });
} finally {
  await rm(directory, { recursive: true, force: true });
}

async function takePictures({ routers, certificates }: RunningDemo): Promise<void> {
  // In front of the middle version, which sends some requests to an older server and some to a newer one.
  const { origin } = routers[1] ?? {};
  if (origin === undefined) throw new TypeError('the demo has no second router');
  const pair = {
    cert: await readFile(certificates.admin.certificate),
    key: await readFile(certificates.admin.privateKey),
  };
  // The demo's authority is its own, so that nobody else could answer on this port.
  const tls = { ...pair, rejectUnauthorized: false };
  for (const path of requests) await getText(`${origin}${path}`, tls);
  const browser = await launchChromium();
  try {
    for (const { name, options, part } of pictures) {
      const context = await browser.newContext({
        ...options,
        ignoreHTTPSErrors: true,
        reducedMotion: 'reduce',
        clientCertificates: [{ origin, ...pair }],
      });
      const page = await context.newPage();
      await page.goto(`${origin}${pagePath}`);
      const path = join(images, name);
      await (part === undefined ? page.screenshot({ path }) : page.locator(part).screenshot({ path }));
      process.stdout.write(`docs/images/${name}\n`);
      await context.close();
    }
  } finally {
    await browser.close();
  }
}
