import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { inboundRequest } from '../../../test/support/inbound-request.ts';
import { keySetOf, type TokenSigner, testNow, tokenSigner } from '../../../test/support/token-signer.ts';
import type { Caller } from '../../request/user-info.ts';
import { AuthenticationError } from '../incoming/authenticator.ts';
import { JwtAuthenticator } from './jwt-authenticator.ts';
import { fixedKeys } from './key-source.ts';
import { serviceAccountIssuer } from './service-account-issuer.ts';

const issuer = 'https://kubernetes.default.svc.cluster.local';

let signer: TokenSigner;
before(async () => {
  signer = await tokenSigner('sa-1', 'RS256');
});

/** The claims of a projected token, as a kube-apiserver 1.33 writes them. */
function podBoundClaims(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const now = testNow / 1000;
  return {
    aud: [issuer],
    exp: now + 31_536_000,
    iat: now - 10,
    iss: issuer,
    jti: '2b76b98d-e185-4970-918e-6fa3f30606ab',
    'kubernetes.io': {
      namespace: 'payments',
      node: { name: 'worker-2', uid: '52c81fbd-d2e9-4c7a-b45f-89df2615076b' },
      pod: { name: 'web-5b84d8dd85-xz2rr', uid: 'adbcb431-1ba9-4022-b222-a5ba02534005' },
      serviceaccount: { name: 'web', uid: 'e56b64e1-4415-4ee8-9cdf-78026924a7e5' },
      warnafter: now + 3607,
    },
    nbf: now - 10,
    sub: 'system:serviceaccount:payments:web',
    ...changes,
  };
}

function kubernetesClaims(changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const claims = podBoundClaims();
  const own = claims['kubernetes.io'];
  assert.ok(typeof own === 'object');
  return { ...claims, 'kubernetes.io': { ...own, ...changes } };
}

async function authenticate(
  claims: Record<string, unknown>,
  audiences: readonly string[] = [issuer],
): Promise<Caller | undefined> {
  const keys = fixedKeys(await keySetOf(signer));
  const issuers = [serviceAccountIssuer(issuer, keys, audiences)];
  const token = await signer.sign(claims);
  return new JwtAuthenticator({ issuers, clock: () => testNow }).authenticate(
    inboundRequest(['Authorization', `Bearer ${token}`]),
  );
}

describe('a service account token', () => {
  it('bound to a pod says what kube-apiserver says of it', async () => {
    const caller = await authenticate(podBoundClaims());
    assert.ok(caller?.kind === 'authenticated');
    assert.equal(caller.user.name, 'system:serviceaccount:payments:web');
    assert.equal(caller.user.uid, 'e56b64e1-4415-4ee8-9cdf-78026924a7e5');
    assert.deepEqual(caller.user.groups, ['system:serviceaccounts', 'system:serviceaccounts:payments']);
    assert.deepEqual(Object.fromEntries(caller.user.extra), {
      'authentication.kubernetes.io/pod-name': ['web-5b84d8dd85-xz2rr'],
      'authentication.kubernetes.io/pod-uid': ['adbcb431-1ba9-4022-b222-a5ba02534005'],
      'authentication.kubernetes.io/credential-id': ['JTI=2b76b98d-e185-4970-918e-6fa3f30606ab'],
      'authentication.kubernetes.io/node-name': ['worker-2'],
      'authentication.kubernetes.io/node-uid': ['52c81fbd-d2e9-4c7a-b45f-89df2615076b'],
    });
  });

  it('of an older server has neither node nor ID', async () => {
    const claims = { ...kubernetesClaims({ node: undefined }), jti: undefined };
    const caller = await authenticate(claims);
    assert.ok(caller?.kind === 'authenticated');
    assert.deepEqual(
      [...caller.user.extra.keys()],
      ['authentication.kubernetes.io/pod-name', 'authentication.kubernetes.io/pod-uid'],
    );
  });

  it('bound to nothing but its service account has an ID only', async () => {
    const caller = await authenticate(kubernetesClaims({ node: undefined, pod: undefined }));
    assert.ok(caller?.kind === 'authenticated');
    assert.deepEqual([...caller.user.extra.keys()], ['authentication.kubernetes.io/credential-id']);
  });

  it('may be a minute past its time, as at kube-apiserver, and no more', async () => {
    const now = testNow / 1000;
    assert.equal((await authenticate(podBoundClaims({ exp: now - 59 })))?.kind, 'authenticated');
    await assert.rejects(authenticate(podBoundClaims({ exp: now - 60 })), AuthenticationError);
    await assert.rejects(authenticate(podBoundClaims({ nbf: now + 61 })), AuthenticationError);
  });
});

describe('attacks with a service account token', () => {
  it('meant for another audience, such as a vault', async () => {
    await assert.rejects(authenticate(podBoundClaims({ aud: ['vault'] })), AuthenticationError);
    assert.equal(
      (await authenticate(podBoundClaims({ aud: ['vault', 'api'] }), ['api']))?.kind,
      'authenticated',
    );
  });

  it('with a colon in a name, which would name another service account', async () => {
    for (const changes of [
      { namespace: 'kube-system:admin' },
      { namespace: 'kube-system', serviceaccount: { name: 'a:b', uid: 'u' } },
      { namespace: '' },
      { serviceaccount: { name: '', uid: 'u' } },
      { serviceaccount: { name: 'web', uid: '' } },
    ]) {
      await assert.rejects(
        authenticate(kubernetesClaims(changes)),
        AuthenticationError,
        JSON.stringify(changes),
      );
    }
  });

  it('with members of another kind', async () => {
    for (const changes of [
      { namespace: 7 },
      { namespace: undefined },
      { serviceaccount: 'web' },
      { serviceaccount: { name: ['web'], uid: 'u' } },
      { pod: { name: 7, uid: 'u' } },
      { node: { name: {}, uid: 'u' } },
    ]) {
      await assert.rejects(
        authenticate(kubernetesClaims(changes)),
        AuthenticationError,
        JSON.stringify(changes),
      );
    }
    await assert.rejects(authenticate(podBoundClaims({ 'kubernetes.io': 'payments' })), AuthenticationError);
  });

  it('out of a Secret, which may long be deleted: the API server is asked', async () => {
    const legacy = {
      iss: issuer,
      sub: 'system:serviceaccount:payments:web',
      'kubernetes.io/serviceaccount/namespace': 'payments',
      'kubernetes.io/serviceaccount/service-account.name': 'web',
    };
    assert.equal(await authenticate(legacy), undefined);
    assert.equal(await authenticate(podBoundClaims({ exp: undefined })), undefined);
    assert.equal(await authenticate(podBoundClaims({ aud: undefined })), undefined);
  });
});
