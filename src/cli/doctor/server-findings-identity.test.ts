import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestRecord } from '../../../demo/example-api-server/index.ts';
import { findingsOf, installation } from '../../../test/support/installation/doctor-installation.ts';

const check = 'identity at cp-a';

describe('doctor, about the identity of the router', () => {
  it('sees that a server believes it, asking as a user without rights', async (context) => {
    const requests: RequestRecord[] = [];
    const { examine } = await installation(context, {
      server: () => ({ onRequest: (request) => requests.push(request) }),
    });
    const { code, findings } = await examine();
    assert.equal(code, 0, JSON.stringify(findings));
    assert.match(findingsOf(findings, check), /^ok: .* believes this router about who calls$/);
    assert.deepEqual(
      requests.map(({ method, url }) => `${method} ${url}`),
      ['GET /readyz', 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews'],
    );
    for (const { user } of requests) {
      assert.equal(user?.name, 'mixed-version-proxy:doctor');
      // Nothing but what every authenticated user is in; above all not system:masters.
      assert.deepEqual(user.groups, ['mixed-version-proxy:doctor', 'system:authenticated']);
    }
  });

  it('sees a server that does not know the CA of the pair, or its name', async (context) => {
    const { examine } = await installation(context, {
      server: () => ({ requestHeaderAllowedNames: ['aggregator'] }),
    });
    const { code, findings } = await examine();
    assert.equal(code, 2);
    assert.match(
      findingsOf(findings, check),
      /^failed: .* refuses .*\(401\): there, --requestheader-client-ca-file must hold the CA that has signed \S+front-proxy\.crt \(CN=front-proxy-ca\), --requestheader-allowed-names its name \(CN=front-proxy-client\)/,
    );
  });

  it('sees a server that takes the router for an ordinary client, and every caller for the router', async (context) => {
    const { examine } = await installation(context, {
      server: ({ frontProxies }) => ({ clientCa: frontProxies, requestHeaderAllowedNames: ['aggregator'] }),
    });
    const { code, findings } = await examine();
    assert.equal(code, 2);
    assert.match(
      findingsOf(findings, check),
      /^failed: .* takes every request of this router as one of user "front-proxy-client", and ignores the X-Remote headers/,
    );
  });

  it('sees a server that reads no groups, and one that reads no extra values', async (context) => {
    const without = (names: RegExp) => ({
      server: () => ({
        filter: (request: { readonly rawHeaders: string[] }, _response: unknown, next: () => void): void => {
          for (const [index, name] of request.rawHeaders.entries()) {
            if (index % 2 === 0 && names.test(name)) request.rawHeaders[index] = 'x-unread';
          }
          next();
        },
      }),
    });
    const groups = await (await installation(context, without(/^x-remote-group$/i))).examine();
    assert.match(
      findingsOf(groups.findings, check),
      /^failed: .*--requestheader-group-headers=X-Remote-Group/,
    );
    assert.equal(groups.code, 2);
    const extra = await (await installation(context, without(/^x-remote-extra-/i))).examine();
    assert.match(findingsOf(extra.findings, check), /^warning: .*--requestheader-extra-headers-prefix=/);
    assert.equal(extra.code, 1);
  });

  it('does not judge a server that tells nothing of the caller', async (context) => {
    const { examine } = await installation(context, {
      server: () => ({ disabledGroupVersions: ['authentication.k8s.io/v1'] }),
    });
    const { code, findings } = await examine();
    assert.equal(code, 1);
    assert.match(findingsOf(findings, check), /^warning: .* returned 404, not the caller's name/);
  });
});
