import { readFileSync } from 'node:fs';
import { statusResponse } from '../../../src/apimachinery/status.ts';
import worker, { type WorkerEnvironment } from '../../../src/edge/worker/index.ts';
import type { BunHostSettings } from './bun-settings.ts';

/** The parts of Bun that are used here (bun.sh/docs/api/http). */
interface BunRuntime {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly tls: { readonly cert: string; readonly key: string };
    /** Seconds; 0 is no limit. */
    readonly idleTimeout: number;
    readonly fetch: (request: Request) => Promise<Response>;
  }): { readonly port: number };
}

/** What Bun's `fetch` takes beside the standard. */
interface BunRequestInit extends RequestInit {
  readonly decompress: boolean;
  readonly tls: { readonly ca: string };
}

const { Bun } = globalThis as unknown as { readonly Bun: BunRuntime };
const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as BunHostSettings;

/** Answers as they came: not decoded, and from servers of the cluster's authority alone. */
function bunFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const options: BunRequestInit = {
    ...init,
    decompress: false,
    tls: { ca: settings.destinationAuthorities },
  };
  return fetch(url, options);
}

/** What would leave Bun as something else than it came (docs/reference/runtimes.md). */
function refusal({ headers }: Request): Response | undefined {
  if (headers.get('upgrade')?.toLowerCase() === 'websocket') {
    return statusResponse('BadRequest', 'this router cannot upgrade connections');
  }
  let joined: string | undefined;
  headers.forEach((value, name) => {
    if (name.startsWith('impersonate-') && value.includes(',')) joined = name;
  });
  return joined === undefined
    ? undefined
    : statusResponse('BadRequest', `the header ${joined} holds a comma, or there are several lines of it`);
}

const environment = { ...settings.environment, DESTINATIONS: { fetch: bunFetch } } as WorkerEnvironment;
const context = { waitUntil: (promise: Promise<unknown>): void => void promise.catch(() => {}) };
const { port } = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  tls: settings.serving,
  idleTimeout: 0,
  fetch: async (request) => refusal(request) ?? (await worker.fetch(request, environment, context)),
});
process.stderr.write(`${JSON.stringify({ event: 'listen', port })}\n`);
