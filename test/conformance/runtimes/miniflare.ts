import { type Miniflare, startMiniflare } from '../../../scripts/runtimes/index.ts';
import { firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import type { Cluster } from '../cluster.ts';
import { clusterAuthority, frontProxyPair } from '../credentials.ts';
import type { ConformanceRuntime, RunningRuntime } from '../runtime.ts';
import type { ClientCertificate, WireClient } from '../wire/exchange.ts';
import { fetchClient } from '../wire/fetch-client.ts';
import { http1Client } from '../wire/http1-client.ts';
import { edgeEnvironment } from './edge-environment.ts';
import { nobodyAsserts, notPossible, onlyHttp1, unnoticedDepartures, urlParsed } from './reservations.ts';
import { workerBuild } from './worker-build.ts';

/** The Worker on Miniflare's workerd, with bindings and client certificates as Cloudflare has them. */
export const miniflare: ConformanceRuntime = {
  id: 'miniflare',
  title: 'Worker (Miniflare)',
  description:
    'The built Worker on Miniflare’s workerd with the bindings of `wrangler.toml`: snapshot in a Durable Object, front-proxy certificate by a binding, client certificates from `request.cf`. TLS ends before it, as on the platform.',
  lacks: {
    assertions: nobodyAsserts,
    exactTarget: urlParsed,
    http2: onlyHttp1,
    spdy: notPossible(
      'A Worker can pass on WebSockets only: SPDY is refused with a 400 Status that says so.',
    ),
  },
  exceptions: unnoticedDepartures,
  start,
};

async function start(cluster: Cluster): Promise<RunningRuntime> {
  const build = await workerBuild();
  const trustedCertificates = [clusterAuthority.certificate];
  const keypair = { privateKey: frontProxyPair.privateKey, certificateChain: frontProxyPair.chain };
  const texts = {
    ...edgeEnvironment(cluster, 'front-proxy'),
    CLIENT_CERTIFICATES: 'cf',
  };
  const options = {
    telemetry: { enabled: false },
    cf: false,
    workers: [
      {
        config: {
          name: 'router',
          compatibilityDate: build.compatibilityDate,
          compatibilityFlags: build.compatibilityFlags,
          manifest: {
            mainModule: build.modules[0]?.name,
            modules: Object.fromEntries(
              build.modules.map(({ name, text }) => [name, { type: 'esm', contents: text }]),
            ),
          },
          env: {
            ...Object.fromEntries(
              Object.entries(texts).map(([name, value]) => [name, { type: 'text', value }]),
            ),
            PEER_MTLS: { type: 'network', allow: ['private'], tlsOptions: { keypair, trustedCertificates } },
            DESTINATIONS: { type: 'network', allow: ['private'], tlsOptions: { trustedCertificates } },
            ...Object.fromEntries(
              build.durableObjects.map(({ name, className }) => [
                name,
                { type: 'durable-object', worker: 'router', exportName: className },
              ]),
            ),
          },
          exports: Object.fromEntries(
            build.durableObjects.map(({ className }) => [
              className,
              { type: 'durable-object', storage: 'sqlite' },
            ]),
          ),
        },
        dev: {
          // The listener in front of all Workers compresses what clients take; the platform's is configured.
          unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
          outboundService: { type: 'worker', worker: 'outbound' },
        },
      },
      {
        // For the keys of token issuers: `fetch` trusts the cluster's authority, as the platform's trust store would.
        config: {
          name: 'outbound',
          compatibilityDate: build.compatibilityDate,
          manifest: {
            mainModule: 'outbound.js',
            modules: {
              'outbound.js': {
                type: 'esm',
                contents: 'export default { fetch: (request, { NETWORK }) => NETWORK.fetch(request) };',
              },
            },
          },
          env: { NETWORK: { type: 'network', allow: ['private'], tlsOptions: { trustedCertificates } } },
        },
      },
    ],
  };
  const running = await startMiniflare(options);
  const { port } = await running.unsafeGetDirectURL('router');
  const client = clientOf(running, http1Client({ port: Number(port) }));
  return {
    client,
    async close() {
      await client.close();
      await running.dispose();
    },
  };
}

const addressHeader = 'CF-Connecting-IP';

/**
 * Requests with a client certificate, or with a line that the platform writes itself, go in as the platform hands them over,
 * all others over HTTP/1.1.
 */
function clientOf(running: Miniflare, plain: WireClient): WireClient {
  const dispatch = fetchClient(async (request, { certificate }) => {
    // Whatever the client sends under this name (developers.cloudflare.com/fundamentals/reference/http-headers).
    request.headers.set(addressHeader, '127.0.0.1');
    const init = {
      method: request.method,
      headers: [...request.headers],
      cf: platformInformation(certificate),
    };
    return (await running.dispatchFetch(request.url, init)) as unknown as Response;
  });
  return {
    ...plain,
    send(request) {
      const namesAddress = firstHeader(request.headers ?? [], addressHeader) !== undefined;
      return (request.certificate === undefined && !namesAddress ? plain : dispatch).send(request);
    },
  };
}

/** `request.cf` for a verified certificate (developers.cloudflare.com/workers/runtime-apis/request). */
function platformInformation(certificate: ClientCertificate | undefined): object {
  // A data centre of the platform's.
  const colo = 'AMS';
  if (certificate === undefined) return { colo };
  const organization = certificate === 'admin' ? 'system:masters' : 'dev';
  const subject = `CN=${certificate},O=${organization}`;
  return {
    colo,
    tlsClientAuth: {
      certPresented: '1',
      certVerified: 'SUCCESS',
      certRevoked: '0',
      certSubjectDN: subject,
      certSubjectDNRFC2253: subject,
    },
  };
}
