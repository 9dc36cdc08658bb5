import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tokenSigner } from '../../../test/support/token-signer.ts';
import type { FetchDocument } from './fetch-document.ts';
import { keysFromDiscovery, keysFromUrl, wellKnownUrl } from './load-keys.ts';

const issuer = 'https://issuer.example/tenant';
const discoveryUrl = wellKnownUrl(issuer);
const keysUrl = 'https://keys.example/jwks';
const { publicJwk } = await tokenSigner();
const keySet = JSON.stringify({ keys: [publicJwk] });

/** A web that responds by URL, and what was asked of it. */
function web(answers: Readonly<Record<string, () => Response>>): {
  fetchDocument: FetchDocument;
  asked: string[];
} {
  const asked: string[] = [];
  return {
    asked,
    async fetchDocument(url, { redirect }) {
      assert.equal(redirect, 'manual');
      asked.push(url);
      const answer = answers[url];
      if (answer === undefined) throw new TypeError('fetch failed');
      return answer();
    },
  };
}

function discovery(changes: Readonly<Record<string, unknown>> = {}): () => Response {
  return () => Response.json({ issuer, jwks_uri: keysUrl, ...changes });
}

const publishedKeys = (): Response => new Response(keySet);
const redirectTo =
  (location: string, status = 302) =>
  (): Response =>
    new Response(null, { status, headers: { location } });

async function discover(answers: Readonly<Record<string, () => Response>>) {
  const { fetchDocument, asked } = web(answers);
  const load = keysFromDiscovery(fetchDocument, { issuer, discoveryUrl });
  return { keys: await load(), asked };
}

describe('keys by discovery', () => {
  it('are where the document of the issuer says, also on another host', async () => {
    const { keys, asked } = await discover({ [discoveryUrl]: discovery(), [keysUrl]: publishedKeys });
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      ['key-1'],
    );
    assert.deepEqual(asked, [discoveryUrl, keysUrl]);
  });

  it('have their document under the issuer, with one slash between', () => {
    const wanted = 'https://issuer.example/tenant/.well-known/openid-configuration';
    assert.equal(wellKnownUrl('https://issuer.example/tenant'), wanted);
    assert.equal(wellKnownUrl('https://issuer.example/tenant/'), wanted);
  });

  it('are not taken from a document that speaks for another issuer', async () => {
    for (const other of [
      `${issuer}/`,
      'https://issuer.example/other',
      'HTTPS://issuer.example/tenant',
      undefined,
      [issuer],
    ]) {
      const answers = { [discoveryUrl]: discovery({ issuer: other }), [keysUrl]: publishedKeys };
      await assert.rejects(discover(answers), { name: 'KeyLoadError', code: 'IssuerMismatch' });
    }
  });

  it('are not fetched without TLS, nor with credentials in the URL', async () => {
    for (const uri of [
      'http://keys.example/jwks',
      'file:///etc/passwd',
      'https://a:b@keys.example/',
      '/jwks',
      7,
      undefined,
    ]) {
      await assert.rejects(discover({ [discoveryUrl]: discovery({ jwks_uri: uri }) }), {
        code: 'InvalidDocument',
      });
    }
  });

  it('are not taken from what is no discovery document', async () => {
    for (const text of ['[]', 'null', '"text"', '', '<html>', '['.repeat(100_000)]) {
      await assert.rejects(discover({ [discoveryUrl]: () => new Response(text) }), {
        code: 'InvalidDocument',
      });
    }
  });
});

describe('keys by URL', () => {
  const load = (answers: Readonly<Record<string, () => Response>>) =>
    keysFromUrl(web(answers).fetchDocument, keysUrl)();

  it('follow redirects within the host', async () => {
    const answers = {
      [keysUrl]: redirectTo('/moved', 301),
      'https://keys.example/moved': redirectTo('https://keys.example/again', 308),
      'https://keys.example/again': publishedKeys,
    };
    assert.equal((await load(answers)).length, 1);
  });

  it('do not follow redirects to another host, port or scheme, nor into a circle', async () => {
    for (const location of [
      'https://attacker.example/jwks',
      '//attacker.example/jwks',
      'https://keys.example:8443/jwks',
      'http://keys.example/jwks',
      'https://keys.example.attacker.example/jwks',
      'data:application/json,{}',
      '',
      'https://',
    ]) {
      const answers = { [keysUrl]: redirectTo(location), 'https://attacker.example/jwks': publishedKeys };
      await assert.rejects(load(answers), { name: 'KeyLoadError', code: 'RedirectRefused' }, location);
    }
    await assert.rejects(load({ [keysUrl]: redirectTo(keysUrl) }), { code: 'RedirectRefused' });
  });

  it('are not read beyond half a megabyte', async () => {
    let sent = 0;
    const endless = (): Response =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sent++;
            controller.enqueue(new TextEncoder().encode(' '.repeat(64 * 1024)));
          },
        }),
      );
    await assert.rejects(load({ [keysUrl]: endless }), { code: 'TooLarge' });
    assert.ok(sent < 16, `${sent} chunks were taken`);
  });

  it('are not taken from any response but 200', async () => {
    for (const status of [201, 204, 304, 401, 404, 500, 503]) {
      const body = status === 204 || status === 304 ? null : keySet;
      await assert.rejects(load({ [keysUrl]: () => new Response(body, { status }) }), {
        code: 'UnexpectedStatus',
      });
    }
  });

  it('are given up after a time', async () => {
    const hanging: FetchDocument = (_url, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    await assert.rejects(keysFromUrl(hanging, keysUrl, 1)(), { code: 'Unreachable', message: /within 1 ms/ });
  });

  it('that cannot be had are told of with their URL and cause', async () => {
    await assert.rejects(load({}), (error: unknown) => {
      assert.ok(error instanceof Error);
      assert.match(error.message, /^https:\/\/keys\.example\/jwks: no response$/);
      assert.ok(error.cause instanceof TypeError);
      return true;
    });
  });

  it('that cannot be used are left out, unless there are no others', async () => {
    const odd = { kty: 'EC', crv: 'secp256k1', x: 'AA', y: 'AA' };
    const mixed = (): Response => Response.json({ keys: [odd, publicJwk] });
    assert.equal((await load({ [keysUrl]: mixed })).length, 1);
    const useless = (): Response => Response.json({ keys: [odd] });
    await assert.rejects(load({ [keysUrl]: useless }), {
      code: 'InvalidDocument',
      message: /keys\[0\]: must be an RSA/,
    });
  });
});
