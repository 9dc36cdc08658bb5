/**
 * Writes docs/images/status-history.png: the last hour on the status page, in the middle of an upgrade under a load. Part
 * of `npm run docs:screenshots`; takes seven minutes, or two and a half times the seconds between two upgrades that are
 * given.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { parse } from 'yaml';
import { runUpgradeDemo } from '../../demo/upgrade/run-upgrade-demo.ts';
import { chromiumMissing, launchChromium } from './chromium.ts';

const picture = 'docs/images/status-history.png';
/** Milliseconds between two upgrades. */
const interval = Number(process.argv[2] ?? 170) * 1000;
const parts = ['#traffic', '#timeline', '#clients'];

/** Clients beside those of the demo, by user agent. */
const clients: Readonly<Record<string, string>> = {
  'kubectl/v1.25.16 (linux/amd64)': '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers',
  'helm-controller/v1.1.0': '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers/fixture',
  'kube-controller-manager/v1.26.15 (linux/amd64)':
    '/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas/fixture',
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
let upgraded = 0;
let taken: Promise<void> = Promise.resolve();
let asking: Promise<void> | undefined;
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
        if (line.includes(' goes through one.')) asking = askAll();
        if (line.includes(' is up with ')) upgraded += 1;
        if (line.includes(' is up with ') && upgraded === 2) {
          taken = sleep(interval / 2)
            .then(takePicture)
            .finally(() => ending.abort());
        }
      },
    },
  });
  await taken;
} finally {
  ending.abort();
  await asking;
  await rm(directory, { recursive: true, force: true });
}

async function takePicture(): Promise<void> {
  const origin = await originOfRouter();
  const browser = await launchChromium();
  try {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 1000 },
      colorScheme: 'light',
      ignoreHTTPSErrors: true,
      reducedMotion: 'reduce',
      clientCertificates: [{ origin, ...(await pairOf('admin')) }],
    });
    const page = await context.newPage();
    await page.goto(`${origin}/.mixed-version-proxy/`);
    const boxes = await Promise.all(parts.map((part) => page.locator(part).boundingBox()));
    const found = boxes.filter((box) => box !== null);
    const x = Math.min(...found.map((box) => box.x));
    const y = Math.min(...found.map((box) => box.y));
    const width = Math.max(...found.map((box) => box.x + box.width)) - x;
    const height = Math.max(...found.map((box) => box.y + box.height)) - y;
    const path = resolve(import.meta.dirname, '../..', picture);
    await page.screenshot({ path, fullPage: true, clip: { x, y, width, height } });
    process.stdout.write(`${picture}\n`);
  } finally {
    await browser.close();
  }
}

/** Each client asks every two seconds, until the picture is taken. */
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
