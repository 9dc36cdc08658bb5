/**
 * Writes the pictures of README.md and docs/guides/status-page.md from an upgrade under a load: `npm run
 * generate -- --screenshots`. Takes four minutes, or three times the seconds between two upgrades that are given. Needs Chromium
 * (`apt-get install chromium`).
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import * as v from 'valibot';
import { parse } from 'yaml';
import { runUpgradeDemo } from '../../demo/upgrade/run-upgrade-demo.ts';
import { chromiumMissing, launchChromium } from './support/chromium.ts';

const images = resolve(import.meta.dirname, '../../docs/images');
const pagePath =
  '/.mixed-version-proxy/?method=GET&url=/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
/** Milliseconds between two upgrades. */
const interval = Number(process.argv[2] ?? 80) * 1000;

interface Picture {
  readonly name: string;
  readonly options: BrowserContextOptions;
  /** Parts of the page, from the first to the last; default: what can be seen of it at first. */
  readonly parts?: readonly string[];
}

const wide = { width: 1280, height: 1060 };
const pictures: readonly Picture[] = [
  { name: 'status-overview.png', options: { viewport: wide, colorScheme: 'light' } },
  // The README shows the one that the reader's colour scheme asks for.
  { name: 'status-overview-dark.png', options: { viewport: wide, colorScheme: 'dark' } },
  { name: 'status-explain.png', options: { viewport: wide, colorScheme: 'dark' }, parts: ['#explain'] },
  {
    name: 'status-history.png',
    options: { viewport: wide, colorScheme: 'light' },
    parts: ['#clients', '#traffic', '#timeline'],
  },
  { name: 'status-phone.png', options: { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } },
];

const workloads = '/apis/scheduling.k8s.io/v1alpha1/namespaces/default/workloads';
/** Clients beside those of the demo, by user agent. */
const clients: Readonly<Record<string, string>> = {
  'kubectl/v1.35.6 (linux/amd64)': workloads,
  'batch-operator/v0.9.0': `${workloads}/fixture`,
  'policy-controller/v2.1.0': '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies',
  'kube-state-metrics/v2.13.0': '/api/v1/namespaces/default/configmaps',
};

const kubeconfigSchema = v.object({
  clusters: v.array(v.object({ cluster: v.object({ server: v.string() }) })),
});

const missing = chromiumMissing();
if (missing !== undefined) throw new Error(missing);
const directory = await mkdtemp(join(tmpdir(), 'status-page-'));
const demoDirectory = join(directory, '.demo');
const ending = new AbortController();
let working: Promise<unknown> = Promise.resolve();
try {
  await runUpgradeDemo({
    directory: demoDirectory,
    interval,
    signal: ending.signal,
    terminal: {
      isInteractive: false,
      isColored: false,
      height: () => 24,
      open: () => () => undefined,
      write(line) {
        process.stdout.write(line);
        if (line.includes(' goes through one.')) working = Promise.all([askAll(), midway()]);
      },
    },
  });
} finally {
  ending.abort();
  await working;
  await rm(directory, { recursive: true, force: true });
}

/** When the first server of three has been upgraded for half of the time until the second one is. */
async function midway(): Promise<void> {
  await sleep(interval * 1.5, undefined, { signal: ending.signal }).catch(() => undefined);
  if (!ending.signal.aborted) await takePictures().finally(() => ending.abort());
}

async function takePictures(): Promise<void> {
  const origin = await originOfRouter();
  const browser = await launchChromium();
  try {
    for (const { name, options, parts } of pictures) {
      const context = await browser.newContext({
        ...options,
        ignoreHTTPSErrors: true,
        reducedMotion: 'reduce',
        clientCertificates: [{ origin, ...(await pairOf('admin')) }],
      });
      const page = await context.newPage();
      await page.goto(`${origin}${pagePath}`);
      const path = join(images, name);
      await page.screenshot(
        parts === undefined ? { path } : { path, fullPage: true, clip: await around(page, parts) },
      );
      process.stdout.write(`docs/images/${name}\n`);
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

async function around(page: Page, parts: readonly string[]) {
  const boxes = await Promise.all(parts.map((part) => page.locator(part).boundingBox()));
  const found = boxes.filter((box) => box !== null);
  const x = Math.min(...found.map((box) => box.x));
  const y = Math.min(...found.map((box) => box.y));
  const width = Math.max(...found.map((box) => box.x + box.width)) - x;
  const height = Math.max(...found.map((box) => box.y + box.height)) - y;
  return { x, y, width, height };
}

/** Each client asks every two seconds, until the pictures are taken. */
async function askAll(): Promise<void> {
  const origin = await originOfRouter();
  const users = [await pairOf('admin'), await pairOf('alice')];
  // The demo's authority is its own, so that nobody else could answer on this port.
  const agents = users.map((pair) => new Agent({ ...pair, keepAlive: true, rejectUnauthorized: false }));
  while (!ending.signal.aborted) {
    for (const [index, [userAgent, path]] of Object.entries(clients).entries()) {
      const agent = agents[index % agents.length];
      request(`${origin}${path}`, { agent, headers: { 'user-agent': userAgent } }, (response) =>
        response.resume(),
      )
        .once('error', () => undefined)
        .end();
    }
    await sleep(2000, undefined, { signal: ending.signal }).catch(() => undefined);
  }
  for (const agent of agents) agent.destroy();
}

/** The router in front of the server that is upgraded last. */
async function originOfRouter(): Promise<string> {
  const text = await readFile(join(demoDirectory, 'kubeconfig'), 'utf8');
  const { clusters } = v.parse(kubeconfigSchema, parse(text));
  return clusters.at(-1)?.cluster.server ?? '';
}

async function pairOf(user: string): Promise<{ cert: Buffer; key: Buffer }> {
  const file = (extension: string) => readFile(join(demoDirectory, 'pki', `${user}.${extension}`));
  return { cert: await file('crt'), key: await file('key') };
}
