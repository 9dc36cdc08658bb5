// How a Worker is told things: its environment on real workerd, tokens, Access, and the cron trigger.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { apiServer } from '../support/edge/edge-api-server.ts';
import { administrator, startWorkerCluster } from '../support/edge/worker-cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startWorkers, workerOf } from '../support/worker-runtime.ts';

test('an environment with faults answers 500, tells the client none of them and the log all', async () => {
  const log: string[] = [];
  const bindings = {
    LOCAL_SERVER: 'http://local.example',
    SNAPSHOT_KEYS: '{"keys":[]}',
    STALE_POLICY: 'hope',
    ASSERTION_SIGNING_KEY: 'hunter2',
    SNAPSHOT_STORE: 'kv',
  };
  const miniflare = await startWorkers({ router: bindings }, { log: (line) => log.push(line) });
  try {
    for (let request = 0; request < 2; request++) {
      const response = await miniflare.dispatchFetch('http://router/livez');
      const text = await response.text();
      assert.equal(response.status, 500);
      assert.match(text, /"kind":"Status"/);
      assert.doesNotMatch(text, /SNAPSHOT|SERVER_ID|hunter2/);
    }
    // Told once, not with every request.
    assert.equal(log.length, 1);
    const [line = ''] = log;
    const names = ['SERVER_ID', 'LOCAL_SERVER', 'SNAPSHOT_KEYS', 'STALE_POLICY', 'ASSERTION_SIGNING_KEY'];
    for (const name of [...names, 'ASSERTION_ISSUER', 'SNAPSHOT_STORE']) assert.match(line, new RegExp(name));
    assert.doesNotMatch(line, /hunter2/);
  } finally {
    await miniflare.dispose();
  }
});

const issuer = 'https://team.example';
const audience = 'application-1';

/** Cloudflare Access as a Worker sees it: an issuer whose keys it fetches. */
async function accessTeam() {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  return {
    /** A Worker that answers for the team, and fetches for the router under test. */
    keys: JSON.stringify({ keys: [jwk] }),
    token: (changes: Readonly<Record<string, unknown>> = {}) =>
      new SignJWT({ email: 'jane@example.com', groups: ['dev'], ...changes })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setIssuer(String(changes['iss'] ?? issuer))
        .setAudience(String(changes['aud'] ?? audience))
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey),
  };
}

test('the token of Cloudflare Access names the caller, and goes to nobody behind', async () => {
  const team = await accessTeam();
  const edge = await startWorkerCluster({
    ACCESS_CONFIG: JSON.stringify({
      apiVersion: 'mixed-version-proxy/v1alpha1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: { url: issuer, audiences: [audience], jwksURL: 'https://localhost:1/certs' },
          claimMappings: {
            username: { claim: 'email', prefix: 'access:' },
            groups: { claim: 'groups', prefix: 'access:' },
          },
        },
      ],
    }),
  });
  try {
    await edge.pushGeneration(1);
    const token = await team.token();
    const ask = (headers: Readonly<Record<string, string>>) =>
      edge.miniflare.dispatchFetch('http://router/api/v1/pods', { headers: { ...headers } });
    // Its keys cannot be had: nobody behind could judge the token either, so that it is refused.
    const unavailable = await ask({ 'cf-access-jwt-assertion': token });
    assert.equal(unavailable.status, 401);
    await unavailable.body?.cancel();
    // Plain headers beside it count for nothing, and credentials of Access stay here.
    const plain = await ask({
      'cf-access-authenticated-user-email': 'root@example.com',
      'cf-access-client-secret': 'secret',
      'cf-access-client-id': 'id',
      cookie: `a=1; CF_Authorization=${token}; b=2`,
    });
    assert.equal(plain.status, 200);
    const headers = edge.local.requests.at(-1)?.headers ?? [];
    assert.deepEqual(allHeaders(headers, 'x-remote-user'), []);
    assert.deepEqual(allHeaders(headers, 'cookie'), ['a=1; b=2']);
    assert.equal(headers.join().includes('secret'), false);
    // The caller's own credentials for the cluster go first; the token beside them does not travel with them.
    const own = await ask({ authorization: 'Bearer own', 'cf-access-jwt-assertion': token });
    assert.equal(own.status, 200);
    const seen = edge.local.requests.at(-1)?.headers ?? [];
    assert.deepEqual(allHeaders(seen, 'authorization'), ['Bearer own']);
    assert.deepEqual(allHeaders(seen, 'cf-access-jwt-assertion'), []);
  } finally {
    await edge.close();
  }
});

test('the cron trigger reads the servers, stores a signed snapshot, and renews it while nothing changes', async () => {
  const edge = await startWorkerCluster(({ local, peer, syncKey }) => ({
    SYNC_SERVERS: JSON.stringify([
      { id: 'local', url: local.origin },
      { id: 'peer', url: peer.origin },
    ]),
    SYNC_TOKEN: 'of-the-sync-job',
    SYNC_SIGNING_KEY: JSON.stringify(syncKey.privateJwk),
    SYNC_LIFETIME_SECONDS: '600',
  }));
  try {
    edge.local.answer = apiServer({ '': 'pods' });
    edge.peer.answer = apiServer({ '': 'pods', batch: 'jobs' });
    const worker = await workerOf(edge.miniflare);
    assert.equal((await worker.scheduled({ cron: '* * * * *' })).outcome, 'ok', edge.log.join('\n'));
    const stored = async () => {
      const response = await worker.fetch('http://router/.mixed-version-proxy/v1/status', administrator);
      return ((await response.json()) as { snapshot: { generation: number; expiresAt: string } }).snapshot;
    };
    const first = await stored();
    const explained = await worker.fetch(
      'http://router/.mixed-version-proxy/v1/explain?url=/apis/batch/v1/jobs',
      administrator,
    );
    assert.equal(((await explained.json()) as { reason: string }).reason, 'ServedByPeer');
    assert.equal((await worker.scheduled({ cron: '* * * * *' })).outcome, 'ok', edge.log.join('\n'));
    let second = await stored();
    // The isolate's requests look at the store once a second.
    await eventually(async () => {
      second = await stored();
      return second.expiresAt !== first.expiresAt;
    });
    assert.equal(second.generation, first.generation);
    assert.ok(Date.parse(second.expiresAt) > Date.parse(first.expiresAt));
  } finally {
    await edge.close();
  }
});

test('a cron trigger without anything to do fails, and says what is missing', async () => {
  const edge = await startWorkerCluster();
  try {
    const worker = await workerOf(edge.miniflare);
    const { outcome } = await worker.scheduled({ cron: '* * * * *' });
    assert.equal(outcome, 'exception');
  } finally {
    await edge.close();
  }
});
