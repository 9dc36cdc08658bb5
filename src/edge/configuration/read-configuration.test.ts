import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { speaker } from '../../../test/support/assertions.ts';
import { WorkerConfigurationError } from './configuration.ts';
import { readConfiguration } from './read-configuration.ts';

const sync = await speaker('sync');
const edge = await speaker('edge');
const binding = { fetch: async () => new Response() };
const object = { idFromName: () => ({}), get: () => binding };

const least = {
  SERVER_ID: 'cp-a',
  LOCAL_SERVER: 'https://cp-a.example:6443',
  SNAPSHOT_KEYS: { keys: [sync.publicJwk] },
};

const tokens = {
  TOKEN_ISSUER: 'https://team.example',
  TOKEN_AUDIENCE: 'app',
  TOKEN_JWKS_URL: 'https://team.example/cdn-cgi/access/certs',
  TOKEN_USERNAME_CLAIM: 'email',
};

/** The names with errors, and the message. */
async function issuesOf(environment: object): Promise<{ names: readonly string[]; message: string }> {
  try {
    await readConfiguration(environment);
  } catch (error) {
    assert.ok(error instanceof WorkerConfigurationError);
    return { names: error.issues.map(({ path }) => path), message: error.message };
  }
  assert.fail('the configuration was accepted');
}

test('the least that is needed, as text or as values', async () => {
  for (const SNAPSHOT_KEYS of [least.SNAPSHOT_KEYS, JSON.stringify(least.SNAPSHOT_KEYS)]) {
    const { local, snapshot, assertions, callers } = await readConfiguration({
      ...least,
      SNAPSHOT_KEYS,
    });
    assert.deepEqual(local, {
      kind: 'local',
      id: 'cp-a',
      origin: 'https://cp-a.example:6443',
      serverName: 'cp-a.example',
      trust: { kind: 'peer-ca' },
    });
    assert.equal(snapshot.object, undefined);
    assert.equal(assertions, undefined);
    assert.deepEqual(callers, { clientCertificates: false, tokenIssuer: undefined });
  }
});

test('everything at once', async () => {
  const configuration = await readConfiguration({
    ...least,
    PEER_MTLS: binding,
    DESTINATIONS: binding,
    ASSERTION_SIGNING_KEY: edge.privateJwk,
    ASSERTION_ISSUER: 'edge',
    CLIENT_CERTIFICATES: 'cf',
    ...tokens,
    SNAPSHOT_OBJECT: object,
  });
  const { assertions, callers, snapshot } = configuration;
  assert.equal(assertions?.issuer, 'edge');
  const jws = await assertions.signer.sign({
    user: { name: 'jane', uid: '', groups: [], extra: new Map() },
    destinationId: 'cp-b',
    method: 'GET',
    target: '/api',
    rerouted: true,
  });
  assert.equal(decodeProtectedHeader(jws).kid, edge.kid);
  assert.equal(snapshot.object, object);
  assert.equal(callers.clientCertificates, true);
  assert.deepEqual(callers.tokenIssuer, {
    issuer: 'https://team.example',
    audience: 'app',
    keysUrl: new URL('https://team.example/cdn-cgi/access/certs'),
    usernameClaim: 'email',
    groupsClaim: undefined,
  });
});

test('every error is told at once, under its name, and no value is repeated', async () => {
  const { names, message } = await issuesOf({
    LOCAL_SERVER: 'https://cp-a.example:6443/path',
    SNAPSHOT_KEYS: 'secret-text',
    PEER_MTLS: 'secret-text',
    ASSERTION_SIGNING_KEY: 'secret-text',
    CLIENT_CERTIFICATES: 'yes',
    TOKEN_JWKS_URL: 'http://secret-text',
    PEER_CIDRS: ['secret'],
  });
  for (const name of [
    'SERVER_ID',
    'LOCAL_SERVER',
    'SNAPSHOT_KEYS',
    'PEER_MTLS',
    'ASSERTION_SIGNING_KEY',
    'ASSERTION_ISSUER',
    'CLIENT_CERTIFICATES',
    'TOKEN_ISSUER',
    'TOKEN_AUDIENCE',
    'TOKEN_JWKS_URL',
  ]) {
    assert.ok(names.includes(name), name);
  }
  assert.doesNotMatch(message, /secret-text/);
  const mixed = await issuesOf({ ...least, PEER_CIDRS: ['10.0.0.0/8', 1] });
  assert.match(mixed.message, /PEER_CIDRS must be a JSON array of texts/);
});

test('settings that contradict each other are errors', async () => {
  const cases: readonly (readonly [object, string])[] = [
    // A forgotten setting is no gateway, and a gateway has no server of its own.
    [{ ...least, SERVER_ID: '' }, 'SERVER_ID'],
    [{ ...least, GATEWAY: 'true' }, 'SERVER_ID'],
    [{ ...least, ASSERTION_SIGNING_KEY: edge.privateJwk }, 'ASSERTION_ISSUER'],
    [{ ...least, TOKEN_GROUPS_CLAIM: 'groups' }, 'TOKEN_ISSUER'],
    [{ ...least, ...tokens, TOKEN_AUDIENCE: '' }, 'TOKEN_AUDIENCE'],
  ];
  for (const [environment, name] of cases)
    assert.ok((await issuesOf(environment)).names.includes(name), name);
});

test('the gateway form names no server', async () => {
  const { local } = await readConfiguration({
    GATEWAY: 'true',
    SNAPSHOT_KEYS: least.SNAPSHOT_KEYS,
  });
  assert.equal(local, undefined);
});
