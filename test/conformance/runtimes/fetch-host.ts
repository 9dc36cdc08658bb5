/** Runs on Deno and on Bun: the Worker's fetch handler in a host of one's own, with a way out of the host's. */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { statusResponse } from '../../../src/apimachinery/status.ts';
import worker from '../../../src/edge/worker/index.ts';
import type { FetchHostSettings } from './fetch-host-settings.ts';

interface ServeOptions {
  readonly hostname: string;
  readonly port: number;
}

/** The parts of Bun that are used here (bun.sh/docs/api/http). */
interface BunRuntime {
  serve(
    options: ServeOptions & {
      readonly tls: { readonly cert: string; readonly key: string };
      /** Seconds; 0 is no limit. */
      readonly idleTimeout: number;
      readonly fetch: (request: Request) => Promise<Response>;
    },
  ): { readonly port: number };
}

/** The parts of Deno that are used here (docs.deno.com/api/deno). */
interface DenoRuntime {
  serve(
    options: ServeOptions & {
      readonly cert: string;
      readonly key: string;
      readonly onListen: (address: { readonly port: number }) => void;
    },
    handler: (request: Request) => Promise<Response>,
  ): unknown;
  createHttpClient(options: { readonly caCerts: readonly string[] }): object;
}

/** Options that `fetch` takes beside the standard. */
interface HostRequestInit extends RequestInit {
  /** Bun. */
  readonly decompress?: boolean;
  /** Bun. */
  readonly tls?: { readonly ca: string };
  /** Deno. */
  readonly client?: object;
}

const { Bun, Deno } = globalThis as unknown as { readonly Bun?: BunRuntime; readonly Deno?: DenoRuntime };
const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FetchHostSettings;
const { serving, destinationAuthorities } = settings;
const listen: ServeOptions = { hostname: '127.0.0.1', port: 0 };
const client = Deno?.createHttpClient({ caCerts: [destinationAuthorities] });

/** Responses as they came: not decoded, and from servers of the cluster's authority alone. */
function hostFetch(input: Request | string, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  if (client === undefined) {
    const bun: HostRequestInit = { decompress: false, tls: { ca: destinationAuthorities } };
    return fetch(request, bun);
  }
  // Deno decodes what it can, and leaves the coding in the head: servers are asked for `identity`.
  request.headers.set('accept-encoding', 'identity');
  const deno: HostRequestInit = { client };
  return fetch(request, deno);
}

/** Requests that would leave the host as something else than they came (src/README.md, "A host of your own"). */
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

const environment = { ...settings.environment, DESTINATIONS: { fetch: hostFetch } };
const context = { waitUntil: (promise: Promise<unknown>): void => void promise.catch(() => {}) };
const handle = async (request: Request): Promise<Response> =>
  refusal(request) ?? (await worker.fetch(request, environment, context));
const tellPort = ({ port }: { readonly port: number }): void => {
  process.stderr.write(`${JSON.stringify({ event: 'listen', port })}\n`);
};
if (Bun !== undefined) tellPort(Bun.serve({ ...listen, tls: serving, idleTimeout: 0, fetch: handle }));
Deno?.serve({ ...listen, ...serving, onListen: tellPort }, handle);
