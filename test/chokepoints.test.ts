import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/*
 * Reads the source and holds it to CONTRIBUTING.md, "Single chokepoints": each security rule stands in
 * one function that is called at one place. A call from anywhere else is a way around it, or a way to forget it.
 */
const root = join(import.meta.dirname, '..');

/** Every module of the product, without its comments. */
const modules: ReadonlyMap<string, string> = new Map(
  globSync('{src,packages}/**/*.ts', { cwd: root })
    .filter((file) => !file.endsWith('.test.ts') && !file.includes('/test/'))
    .map((file) => [file, withoutComments(readFileSync(join(root, file), 'utf8'))]),
);

function withoutComments(source: string): string {
  return source
    .replace(/(?<![^\s({,])\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$|(?<=[\s;{]) \/\/ .*$/gm, '');
}

/** The modules in which `pattern` occurs, each as often as it does. */
function placesOf(pattern: RegExp): string[] {
  const places: string[] = [];
  for (const [file, source] of modules) {
    for (const _occurrence of source.matchAll(new RegExp(pattern, 'g'))) places.push(file);
  }
  return places.sort();
}

/** The modules that call `name`, each as often as it does; the definition is no call. */
function callersOf(name: string): string[] {
  return placesOf(new RegExp(`(?<!function )\\b${name}\\(`));
}

/** The modules that name `name` at all, so that no other name for it goes unnoticed. */
function modulesNaming(name: string): string[] {
  return [...new Set(placesOf(new RegExp(`\\b${name}\\b`)))];
}

const chokepoints = {
  // Path acceptance.
  acceptRequestTarget: {
    definedIn: 'src/apimachinery/request-target.ts',
    calledIn: ['src/apimachinery/request-info.ts'],
  },
  // The door, by way of what it remembers; paths that are constants (twice); an explanation of what would happen.
  parseRequestInfo: {
    definedIn: 'src/apimachinery/request-info.ts',
    calledIn: [
      'src/apimachinery/remembered-requests.ts',
      'src/cli/doctor/finding.ts',
      'src/own-paths/authorization.ts',
      'src/proxy/probe.ts',
      'src/proxy/explain.ts',
    ],
  },
  rememberingRequests: {
    definedIn: 'src/apimachinery/remembered-requests.ts',
    calledIn: ['src/proxy/handle-request.ts'],
  },
  // Header hygiene and identity stamping.
  cleanRequestHeaders: {
    definedIn: 'src/request/headers.ts',
    calledIn: ['src/identity/stamp-identity.ts'],
  },
  stampIdentity: {
    definedIn: 'src/identity/stamp-identity.ts',
    calledIn: ['src/proxy/outbound.ts'],
  },
  // The place that makes a request ready to leave: for callers, for what the router asks on its own account, and for
  // what doctor asks in its place.
  buildOutboundRequest: {
    definedIn: 'src/proxy/outbound.ts',
    calledIn: ['src/cli/doctor/finding.ts', 'src/proxy/probe.ts', 'src/proxy/ask-server.ts'],
  },
  // The place that says who may use the router's own paths.
  onlyAuthorizedCallers: {
    definedIn: 'src/own-paths/authorization.ts',
    calledIn: ['src/own-app.ts', 'src/own-app.ts'],
  },
  // For what is signed alone.
  onlyAuthorizedOrUnknownCallers: {
    definedIn: 'src/own-paths/authorization.ts',
    calledIn: ['src/own-app.ts'],
  },
  // The place that asks in a caller's name on the side: whether the caller may use an own path.
  askInCallersName: {
    definedIn: 'src/proxy/ask-in-callers-name.ts',
    calledIn: ['src/own-paths/authorization.ts'],
  },
  // The place that decides whose word on a server's address counts; and what a router says of itself.
  AdvertisedAddresses: {
    definedIn: 'src/sync/advertised-addresses.ts',
    calledIn: ['src/sync/node/run-sync.ts'],
  },
  parseAdvertisedServer: {
    definedIn: 'src/snapshot/addresses/addresses.ts',
    calledIn: ['src/sync/node/targets.ts'],
  },
  // An upgrade that a server declines with a redirect to elsewhere.
  judgeDeclinedUpgrade: {
    definedIn: 'src/proxy/judge-response.ts',
    calledIn: ['src/edge/worker/websocket-upgrade.ts', 'src/node/upgrades/upgrade.ts'],
  },
  // The place that finds heads which HTTP/1 parsers could read in two ways: once for ordinary requests, once for
  // upgrades.
  issueOfHead: {
    definedIn: 'src/node/exchange/http1-heads.ts',
    calledIn: ['src/node/serving/request-handler.ts', 'src/node/upgrades/upgrade.ts'],
  },
  // Which addresses may be dialled.
  // Also by status and doctor, which ask on connections of their own.
  guardedLookup: {
    definedIn: 'src/node/destinations/tls-dialer.ts',
    calledIn: ['src/node/destinations/https-client.ts', 'src/node/destinations/tls-dialer.ts'],
  },
} as const;

for (const [name, { definedIn, calledIn }] of Object.entries(chokepoints)) {
  test(`${name} is called in ${calledIn.join(' and ')}, once each, and nowhere else`, () => {
    assert.deepEqual(callersOf(name), [...calledIn].sort());
    const exported = modulesNaming(name).filter((file) => file !== 'src/index.ts');
    // An import under another name, or a function handed on, would escape the search for calls.
    assert.deepEqual(exported, [...new Set([...calledIn, definedIn])].sort());
    assert.deepEqual(placesOf(new RegExp(`\\b${name} as \\w`)), []);
  });
}

test('OwnSnapshotReceiver.acceptOwn, which asks for no signature, is called by the sync job in the router alone', () => {
  assert.deepEqual(placesOf(/\.acceptOwn\(/), ['src/sync/node/embedded-sync.ts']);
  assert.deepEqual(modulesNaming('ownRouterTarget'), ['src/sync/node/embedded-sync.ts']);
  // And what is stored unsigned is opened by the receiver alone.
  assert.deepEqual(callersOf('openOwnSnapshot'), ['src/snapshot/receiving/own-receiver.ts']);
});

test('SnapshotReceiver.accept is called by the push endpoint alone', () => {
  assert.deepEqual(placesOf(/\breceiver\.accept\(/i), ['src/snapshot/receiving/snapshot-pushes.ts']);
  assert.deepEqual(placesOf(/\.accept\(/).sort(), [
    'src/edge/snapshot/snapshot-keeping.ts', // hands the push on to the receiver that it extends
    'src/own-app.ts',
    'src/proxy/handle-request.ts',
    'src/snapshot/receiving/snapshot-pushes.ts',
  ]);
});

test('a peer assertion is judged in one place', () => {
  assert.deepEqual(placesOf(/\bthis\.verify\(/), ['src/identity/assertion/verify-assertion.ts']);
  assert.deepEqual(placesOf(/\bnew PeerAssertionAuthenticator\(/), [
    'src/node/callers/node-authenticators.ts',
  ]);
});

test('a transport is asked to send in two places, and both have the request from the chokepoint', () => {
  assert.deepEqual(placesOf(/\btransport\.send\(/), ['src/proxy/forward.ts', 'src/proxy/probe.ts']);
  // Nobody else calls it under another name.
  assert.deepEqual(placesOf(/(?<!transport)\.send\(/), []);
  // Requests that leave go to our pool, by undici's interface as well, or to undici's pool behind it.
  assert.deepEqual(placesOf(/\.submit\(/), [
    'packages/http2/client/http2-pool.ts',
    'src/node/destinations/exchange.ts',
  ]);
  assert.deepEqual(placesOf(/\.submitTo\(/), ['src/node/destinations/node-transport.ts']);
  assert.deepEqual(placesOf(/\.dispatch\(/), [
    'packages/http2/client/dispatched-request.ts',
    'src/node/destinations/exchange.ts',
    // Undici's pool has it at once, or when a handshake is over.
    'src/node/destinations/http1-pool.ts',
    'src/node/destinations/http1-pool.ts',
  ]);
  assert.deepEqual(placesOf(/\bnew (?:Http1Pool|Http2Pool)\(/), [
    'src/node/destinations/node-transport.ts',
    'src/node/destinations/node-transport.ts',
  ]);

  assert.match(
    sourceOf('src/proxy/forward.ts'),
    /return \(outbound, request\) => \{[\s\S]*\? outbound : \{ \.\.\.outbound, [^}]*\};[\s\S]*?return transport\.send\(sent, /,
  );
  // Which is handed to `deliver` or `deliverNow` alone.
  assert.deepEqual(callersOf('forwardBy').sort(), [
    'src/proxy/ask-in-callers-name.ts',
    'src/proxy/handle-request.ts',
    'src/proxy/merged-document.ts',
  ]);
  const question = sourceOf('src/proxy/probe.ts');
  assert.match(question, /const outbound = await buildOutboundRequest\(/);
  assert.match(question, /transport\.send\(outbound, /);
});

test('a WebSocket on a Worker is sent in one place, with the request from Router.deliver', () => {
  const source = sourceOf('src/edge/worker/websocket-upgrade.ts');
  assert.match(
    source,
    /const connect: Send = async \(outbound, request\) => \{[^}]*await send\(outbound, inbound, [\s\S]*router\.deliver\(request, connect\)/,
  );
  assert.equal(source.match(/\bsend\(/g)?.length, 1);
});

test('an upgrade is dialled in one place, with the request from Router.deliver', () => {
  assert.deepEqual(callersOf('dialUpgrade'), ['src/node/upgrades/upgrade.ts']);
  assert.match(
    sourceOf('src/node/upgrades/upgrade.ts'),
    /const dial: Send = async \(outbound, request\) => \{\s*const response = await dialUpgrade\(dialer, outbound, [\s\S]*router\.deliver\(request, dial\)/,
  );
});

test('the order accept, identify, decide, serve, name, observe is spelled in one place, for requests and upgrades', () => {
  assert.deepEqual(placesOf(/\brouter\.decide\(/), ['src/proxy/handle-request.ts']);
  assert.deepEqual(placesOf(/\brouter\.identify\(/), [
    // Before the router's own paths.
    'src/own-app.ts',
    'src/proxy/handle-request.ts',
  ]);
  assert.deepEqual(placesOf(/(?<!function )\bhandleRequest[<(]/), [
    'src/app.ts',
    'src/edge/worker/websocket-upgrade.ts',
    'src/node/upgrades/upgrade.ts',
    'src/proxy/middleware.ts',
  ]);
});

test('a request by HTTP/2 comes through the adapter for fetch handlers, and no other way', () => {
  assert.deepEqual(callersOf('serveHttp2'), ['src/node/serving/http2-server.ts']);
  assert.deepEqual(placesOf(/\bnew ServerSession\(/), ['packages/http2/server/fetch-adapter.ts']);
  assert.deepEqual(placesOf(/\bnew Http2Inbound\(/), ['src/node/serving/http2-server.ts']);
  assert.match(
    sourceOf('src/node/serving/http2-server.ts'),
    /return fetch\(request, \{ inbound: new Http2Inbound\(incoming, inboundOptions\) \}\);/,
  );
});

test('Router.deliver builds every outbound request itself, for the first try and the second', () => {
  const delivery = sourceOf('src/proxy/ask-server.ts');
  assert.equal(delivery.match(/\bsend\(/g)?.length, 1, 'one place in it sends');
  assert.match(delivery, /buildOutboundRequest\(request, destination, /);
});

test('another CA reaches connections in one place, to clients and to servers', () => {
  const place = 'src/node/credentials/credentials.ts';
  assert.deepEqual(placesOf(/\.updateCredentials\(/), [place]);
  // With the reader of client certificates, which has the new authorities.
  assert.deepEqual(new Set(callersOf('ClientCertificateReader')), new Set([place]));
});

test('an OutboundRequest is written down in one place', () => {
  // The flag of an OutboundRequest makes a destination believe the X-Remote headers of a connection.
  const literals = placesOf(/\bpresentFrontProxyCertificate: (?!boolean)/);
  assert.deepEqual(literals, ['src/proxy/outbound.ts']);
});

test('connections to destinations are opened in one place, behind the address policy and the pinned name', () => {
  const clients =
    /\b(?:import|export)\b[^;]*\b(?:connect|request|get|Agent|Client|Pool|fetch)\b[^;]*from '(?:node:(?:net|tls|http|https|http2)|undici)'/;
  const openers = placesOf(clients);
  assert.deepEqual(openers, [
    // A pool of HTTP/1.1 connections that the dialer opens, for `mutualTlsDispatchers`.
    'src/node/destinations/http1-pool.ts',
    // The client for requests that are no client's: the sync job and install as their kubeconfig says, status as its
    // caller, doctor as a user without rights (buildOutboundRequest) and behind the address policy.
    'src/node/destinations/https-client.ts',
    'src/node/destinations/https-client.ts',
    'src/node/destinations/tls-dialer.ts',
    // An upgrade over a socket of the dialer.
    'src/node/upgrades/upgrade-dial.ts',
  ]);
  assert.match(sourceOf('src/node/destinations/http1-pool.ts'), /\bconnect\(\)\s+\.then\(/);
  assert.match(
    sourceOf('src/node/destinations/node-transport.ts'),
    /new Http1Pool\(\{ origin, connect: \(\) => connect\(\['http\/1\.1'\]\), /,
  );
  assert.match(sourceOf('src/node/upgrades/upgrade-dial.ts'), /createConnection: \(\) => socket/);
  assert.match(sourceOf('src/node/destinations/node-transport.ts'), /await this\.dialer\.dial\(/);
});

test('every TLS connection that leaves checks who the server is by checkServerIdentity of src/node/destinations/tls-dialer.ts', () => {
  assert.deepEqual(placesOf(/import[^;]*\bcheckServerIdentity\b[^;]*from 'node:tls'/), [
    'src/node/destinations/tls-dialer.ts',
  ]);
  const tlsClients =
    /\bimport\b(?! type)[^;]*\b(?:connect|request|get|Agent|Client|Pool)\b[^;]*from '(?:node:(?:tls|https|http2)|undici)'/;
  // These get sockets of the dialer.
  const overTheDialer = ['src/node/destinations/http1-pool.ts'];
  assert.deepEqual(
    [...new Set(placesOf(tlsClients))].filter((file) => !overTheDialer.includes(file)),
    modulesNaming('checkServerIdentity'),
  );
  for (const file of modulesNaming('checkServerIdentity')) {
    assert.match(
      sourceOf(file),
      /\n\s+checkServerIdentity,\n|\{ checkServerIdentity \} \}\)|checkServerIdentity\(serverName, certificate\)/,
    );
  }
});

test('the router that serves is started with the address policy', () => {
  const start = sourceOf('src/node/process/start-router.ts');
  // The address policy comes from nowhere but a configuration that was checked.
  assert.match(start, /const addressPolicy = createAddressPolicy\(config\.settings\.peers\);/);
  assert.match(start, /new NodeTransport\(\{[^}]*\n\s+addressPolicy,/);
});

test('the HTTP/1 parser is never lenient', () => {
  assert.deepEqual(placesOf(/\b(?:insecureHTTPParser|httpValidation|joinDuplicateHeaders)\b/), []);
});

function sourceOf(file: string): string {
  return modules.get(file) ?? assert.fail(`there is no ${file}`);
}
