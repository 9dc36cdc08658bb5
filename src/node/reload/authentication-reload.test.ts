import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { oidcProvider } from '../../../test/support/oidc-provider.ts';
import { startRouterWithFiles } from '../../../test/support/started-router.ts';
import { askOverHttp1, openHttp1 } from '../../../test/support/tls-client.ts';
import { tokenSigner } from '../../../test/support/token-signer.ts';
import { firstHeader } from '../../apimachinery/raw-headers.ts';

const pods = '/api/v1/pods';

function configurationOf(...issuers: readonly { readonly issuer: string; readonly ca: string }[]): string {
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: issuers.map(({ issuer, ca }) => ({
      issuer: { url: issuer, audiences: ['kubernetes'], certificateAuthority: ca },
      claimMappings: { username: { claim: 'sub', prefix: 'oidc:' } },
    })),
  });
}

describe('--authentication-config that changes while the router runs', () => {
  it('has tokens of a new issuer verified and those of one that is gone passed through; an error keeps the old', async (context) => {
    const authority = await createAuthority('issuer-ca');
    const issuers = await Promise.all(
      [1, 2].map(async () => {
        const signer = await tokenSigner();
        const { issuer, asked } = await oidcProvider(context, authority, signer);
        return { issuer, asked, signer, ca: authority.certificate };
      }),
    );
    const [first, second] = issuers;
    assert.ok(first !== undefined && second !== undefined);
    const started = await startRouterWithFiles(context, {
      files: { 'authentication.json': configurationOf(first) },
      fileFlags: { 'authentication-config': 'authentication.json' },
    });
    const { router, write, path, apiServer, port, authorities, logs } = started;
    /** As whom the API server is told that the bearer of an issuer's token calls. */
    const known = async ({ issuer, signer }: typeof first): Promise<string | undefined> => {
      const exp = Math.floor(Date.now() / 1000) + 3600;
      const token = await signer.sign({ iss: issuer, aud: 'kubernetes', sub: 'jane', exp });
      const socket = await openHttp1(context, { port, ca: authorities.cluster.certificate });
      assert.equal((await askOverHttp1(socket, pods, [`Authorization: Bearer ${token}`])).status, 200);
      return firstHeader(apiServer.requests.at(-1)?.headers ?? [], 'x-remote-user');
    };
    assert.deepEqual([await known(first), await known(second)], ['oidc:jane', undefined]);

    // Another file has changed: the issuers are the same, and so are their keys.
    const questions = first.asked.length;
    await write('peer-ca.crt', `${await readFile(path('peer-ca.crt'), 'utf8')}# renewed\n`);
    await router.reload();
    assert.equal(await known(first), 'oidc:jane');
    assert.equal(first.asked.length, questions);

    await write('authentication.json', configurationOf(second));
    await router.reload();
    assert.deepEqual([await known(first), await known(second)], [undefined, 'oidc:jane']);

    await write('authentication.json', configurationOf({ issuer: 'http://plain', ca: first.ca }));
    await router.reload();
    assert.deepEqual([await known(first), await known(second)], [undefined, 'oidc:jane']);
    const errors = logs.filter(({ level }) => level === 'error');
    assert.equal(errors.length, 1);
    assert.match(String(errors[0]?.fields['error']), /--authentication-config: .*jwt\[0\]\.issuer\.url/);
  });
});
