// How a Worker is told things: its environment on real workerd, tokens and Access.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { startWorkerCluster } from '../support/edge/worker-cluster.ts';
import { startWorkers } from '../support/worker-runtime.ts';

test('an environment with faults answers 500, tells the client none of them and the log all', async () => {
  const log: string[] = [];
  const bindings = {
    LOCAL_SERVER: 'http://local.example',
    SNAPSHOT_KEYS: '{"keys":[]}',
    PREFERRED_VERSION: 'hope',
    ASSERTION_SIGNING_KEY: 'hunter2',
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
    const names = [
      'SERVER_ID',
      'LOCAL_SERVER',
      'SNAPSHOT_KEYS',
      'PREFERRED_VERSION',
      'ASSERTION_SIGNING_KEY',
    ];
    for (const name of [...names, 'ASSERTION_ISSUER']) assert.match(line, new RegExp(name));
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
    TOKEN_ISSUER: issuer,
    TOKEN_AUDIENCE: audience,
    TOKEN_JWKS_URL: 'https://localhost:1/certs',
    TOKEN_USERNAME_CLAIM: 'email',
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
