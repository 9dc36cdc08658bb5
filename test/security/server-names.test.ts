import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { askOverHttps } from '../../src/node/destinations/https-client.ts';
import { checkServerIdentity, TlsDialer } from '../../src/node/destinations/tls-dialer.ts';
import type { DestinationTrust } from '../../src/request/destination.ts';
import { ApiClient } from '../../src/sync/node/api-client.ts';
import { HttpsTarget } from '../../src/sync/node/targets.ts';
import { createAuthority } from '../support/certificates.ts';
import { listenOnLoopback } from '../support/listen-on-loopback.ts';

const authority = await createAuthority('serving-ca');
const name = 'kubernetes.default.svc';
const ca = authority.certificate;
const { signal } = new AbortController();

/** Certificates that the servers of these tests show; each is signed by the trusted authority. */
const certificates = {
  'nothing but a Common Name': await authority.issue({ commonName: name, usage: 'server' }),
  'a Common Name, and an IP address in its subjectAltName': await authority.issue({
    commonName: name,
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  }),
  'a subjectAltName': await authority.issue({ dnsNames: [name], usage: 'server' }),
};

/** A server on loopback that answers everything with 200 and counts. */
async function startServer(context: TestContext, what: keyof typeof certificates) {
  const { chain, privateKey } = certificates[what];
  const requests: string[] = [];
  const server: Server = createServer({ cert: chain, key: privateKey }, (incoming, outgoing) => {
    requests.push(incoming.url ?? '');
    outgoing.end('{}');
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  return { port, requests };
}

function dialOf(kind: 'local' | 'peer', trust: DestinationTrust) {
  return async (port: number): Promise<void> => {
    const dialer = new TlsDialer({ credentials: { peerCertificateAuthorities: ca } });
    const socket = await dialer.dial({
      destination: { kind, id: kind, origin: `https://127.0.0.1:${port}`, serverName: name, trust },
      presentFrontProxyCertificate: false,
      protocols: ['http/1.1'],
    });
    socket.destroy();
  };
}

/** Every way in which a TLS connection leaves; each rejects, or comes back once the server was believed. */
const waysOut: Readonly<Record<string, (port: number) => Promise<unknown>>> = {
  'the local server': dialOf('local', { kind: 'peer-ca' }),
  'a peer': dialOf('peer', { kind: 'peer-ca' }),
  'a server with a CA bundle of its own': dialOf('local', { kind: 'ca-bundle', pem: ca }),
  'status and doctor': (port) =>
    askOverHttps({
      origin: `https://127.0.0.1:${port}`,
      path: '/readyz',
      serverName: name,
      certificateAuthorities: ca,
      clientCertificate: undefined,
      headers: [],
      responseTimeout: 5_000,
      longestResponse: 1_000,
    }),
  "the sync job's lists and watches": async (port) => {
    const client = new ApiClient({
      credentials: async () => ({
        certificateAuthorities: ca,
        clientCertificate: undefined,
        headers: [],
        serverName: name,
      }),
    });
    try {
      const endpoint = { origin: `https://127.0.0.1:${port}`, serverName: name };
      await client.watching(() => [endpoint]).get('/api', 'application/json', signal);
    } finally {
      client.close();
    }
  },
  "the sync job's pushes": async (port) => {
    const target = new HttpsTarget({
      url: `https://127.0.0.1:${port}`,
      serverName: name,
      credentials: async () => ({ certificateAuthorities: ca }),
    });
    try {
      await target.held(signal);
    } finally {
      target.close();
    }
  },
};

for (const [way, reach] of Object.entries(waysOut)) {
  describe(`to ${way}`, () => {
    for (const what of [
      'nothing but a Common Name',
      'a Common Name, and an IP address in its subjectAltName',
    ] as const) {
      test(`attack: a server whose certificate has ${what} is not believed, and gets no request`, async (context) => {
        const { port, requests } = await startServer(context, what);
        await assert.rejects(
          reach(port),
          /no DNS name in its subjectAltName.*issue a certificate with the subjectAltName DNS:kubernetes\.default\.svc/,
        );
        assert.deepEqual(requests, []);
      });
    }

    test('one with the name in its subjectAltName is', async (context) => {
      const { port } = await startServer(context, 'a subjectAltName');
      await reach(port);
    });
  });
}

test('a server that is dialled by its address needs that address in its subjectAltName', async (context) => {
  const { port } = await startServer(context, 'a subjectAltName');
  const socket = connect({ host: '127.0.0.1', port, ca, checkServerIdentity });
  const [error] = await once(socket, 'error');
  assert.match(String(error), /no IP name in its subjectAltName.*subjectAltName IP:127\.0\.0\.1/);
  socket.destroy();
});

test('names of another kind are no DNS names, whatever they hold', () => {
  const certificate = {
    subject: { CN: name },
    subjectaltname: `URI:"https://x/, DNS:${name}"`,
  } as Parameters<typeof checkServerIdentity>[1];
  assert.ok(checkServerIdentity(name, certificate) instanceof Error);
});
