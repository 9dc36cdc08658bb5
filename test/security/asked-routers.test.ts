import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { ask } from '../support/security/ask.ts';
import {
  assertExactIdentity,
  configuredNames,
  impersonation,
  reroutedMarks,
} from '../support/security/forged-headers.ts';
import { asCarried, identities } from '../support/security/identities.ts';
import { protocols } from '../support/security/recording-backend.ts';
import { startRouterUnderTest } from '../support/security/router-under-test.ts';
import { snapshotOf } from '../support/snapshot-builder.ts';

test('S6 S7 S8: other routers are asked for their status as who asks for it, and nobody whom the router does not know asks', async (context) => {
  const router = await startRouterUnderTest(context, {
    flags: { ...configuredNames, 'allowed-users': ['alice', 'carol'] },
    snapshot: ({ peer }) => {
      const advertised = { address: `127.0.0.1:${peer.port}`, by: 'advertise-address' } as const;
      const serves = ['v1/pods'];
      return snapshotOf({ local: { serves }, peer: { serves, advertised } });
    },
  });
  for (const protocol of protocols) {
    for (const path of ['v1/routers', '', 'routers'].map((name) => `/.mixed-version-proxy/${name}`)) {
      for (const [who, { headers, ...identity }] of Object.entries(identities)) {
        await context.test(`${path} by ${protocol}: ${who}`, async () => {
          router.peer.clear();
          const asked = { protocol, client: identity.client, path };
          const carried = [...asCarried(protocol, headers), 'cookie', 'session=1'];
          const { status } = await ask(router.port, { ...asked, headers: carried });
          assert.equal(status, identity.presentsFrontProxyCertificate ? 200 : 401);
          if (status === 200) {
            const request = router.peer.only();
            assert.deepEqual([request.method, request.target], ['GET', '/.mixed-version-proxy/v1/status']);
            assertExactIdentity(request, { headers, ...identity });
            assert.deepEqual(reroutedMarks(request), ['true']);
            assert.deepEqual(allHeaders(request.headers, 'cookie'), []);
          }
          const impersonating = [...carried, ...asCarried(protocol, impersonation)];
          const refused = await ask(router.port, { ...asked, headers: impersonating });
          assert.equal(refused.status, status === 200 ? 403 : 401);
          assert.equal(router.allRequests().length, status === 200 ? 1 : 0);
        });
      }
    }
  }
});
