import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { exportSPKI, importJWK } from 'jose';
import { type Authority, createAuthority } from '../../../test/support/certificates.ts';
import { inboundRequest } from '../../../test/support/inbound-request.ts';
import { oidcProvider } from '../../../test/support/oidc-provider.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { goodClaims, type TokenSigner, testNow, tokenSigner } from '../../../test/support/token-signer.ts';
import type { KeyLocation } from '../../identity/jwt/read-issuer.ts';
import type { Caller } from '../../request/user-info.ts';
import type { JwtConfig } from '../configuration/serve-config.ts';
import { createJwtAuthenticator } from './configured-jwt-authenticator.ts';
import { parsePublicKeyFile } from './pem-files.ts';

let authority: Authority;
before(async () => {
  authority = await createAuthority('issuer-ca');
});

function configFor(issuer: string, keys: KeyLocation): JwtConfig {
  const mappings = {
    username: { path: ['sub'], prefix: 'oidc:', required: true },
    groups: undefined,
    uid: undefined,
    extra: [],
  };
  const policy = { audiences: ['kubernetes'], requiredClaims: new Map<string, string>(), mappings };
  return { issuers: [{ issuer, keys, policy }], serviceAccounts: undefined };
}

function discovery(issuer: string, certificateAuthority: string | undefined): KeyLocation {
  return { kind: 'discovery', url: `${issuer}/.well-known/openid-configuration`, certificateAuthority };
}

/** The authenticator of a configuration, with a clock that a test moves. */
function running(context: TestContext, config: JwtConfig) {
  const { logger, lines } = recordingLogger();
  const clock = { now: testNow };
  const jwt = createJwtAuthenticator(config, logger, () => clock.now);
  assert.ok(jwt !== undefined);
  context.after(() => jwt.close());
  const authenticate = async (token: string): Promise<Caller | undefined> =>
    jwt.authenticator.authenticate(inboundRequest(['Authorization', `Bearer ${token}`]));
  return { authenticate, prepare: () => jwt.authenticator.prepare(), clock, lines };
}

async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await temporaryDirectory(context);
  return folder;
}

async function publicPem({ publicJwk }: TokenSigner): Promise<string> {
  const key = await importJWK(publicJwk, publicJwk.alg, { extractable: true });
  assert.ok(!(key instanceof Uint8Array));
  return exportSPKI(key);
}

describe('tokens of an OpenID Connect provider', () => {
  it('are verified with the keys that it publishes under a private authority', async (context) => {
    const signer = await tokenSigner();
    const provider = await oidcProvider(context, authority, signer);
    const { authenticate } = running(
      context,
      configFor(provider.issuer, discovery(provider.issuer, authority.certificate)),
    );
    const token = await signer.sign(goodClaims({ iss: provider.issuer }));
    const callers = await Promise.all([authenticate(token), authenticate(token), authenticate(token)]);
    for (const caller of callers)
      assert.ok(caller?.kind === 'authenticated' && caller.user.name === 'oidc:jane');
    assert.deepEqual(provider.asked, ['/.well-known/openid-configuration', '/keys']);
  });

  it('follow a rotation, and its keys outlive it', async (context) => {
    const [old, renewed] = [await tokenSigner('old'), await tokenSigner('new')];
    const provider = await oidcProvider(context, authority, old);
    const { authenticate, prepare, clock, lines } = running(
      context,
      configFor(provider.issuer, discovery(provider.issuer, authority.certificate)),
    );
    await prepare();
    provider.signers = [old, renewed];
    const token = await renewed.sign(goodClaims({ iss: provider.issuer }));
    assert.equal(await authenticate(token), undefined, 'a moment after the last fetch it is not judged');
    clock.now += 30_000;
    assert.equal((await authenticate(token))?.kind, 'authenticated');
    provider.isDown = true;
    clock.now += 30_000;
    const unknown = await (await tokenSigner('newer')).sign(goodClaims({ iss: provider.issuer }));
    assert.equal(await authenticate(unknown), undefined);
    assert.equal((await authenticate(token))?.kind, 'authenticated');
    assert.deepEqual(
      lines.map(({ level }) => level).filter((level) => level !== 'debug'),
      ['error'],
    );
    const { err } = lines.find(({ level }) => level === 'error')?.fields ?? {};
    assert.match(String(err), /responded with status 503 instead of 200/);
  });

  it('pass through while another authority vouches for the provider', async (context) => {
    const signer = await tokenSigner();
    const provider = await oidcProvider(context, authority, signer);
    const other = await createAuthority('other-ca');
    for (const trusted of [other.certificate, undefined]) {
      const { authenticate, lines } = running(
        context,
        configFor(provider.issuer, discovery(provider.issuer, trusted)),
      );
      assert.equal(await authenticate(await signer.sign(goodClaims({ iss: provider.issuer }))), undefined);
      assert.match(lines[0]?.message ?? '', /could not be loaded: its tokens pass through unverified/);
    }
    assert.deepEqual(provider.asked, []);
  });

  it('may have their keys at a URL of their own', async (context) => {
    const signer = await tokenSigner('rsa', 'RS256');
    const provider = await oidcProvider(context, authority, signer);
    const { authenticate } = running(
      context,
      configFor('https://issuer.example', {
        kind: 'url',
        url: `${provider.issuer}/keys`,
        certificateAuthority: authority.certificate,
      }),
    );
    assert.equal((await authenticate(await signer.sign(goodClaims())))?.kind, 'authenticated');
    assert.deepEqual(provider.asked, ['/keys']);
  });
});

describe('keys in files', () => {
  it('are read again when a token names a new one, and kept when the file is broken', async (context) => {
    const path = join(await temporaryFolder(context), 'keys.json');
    const [old, renewed] = [await tokenSigner('old'), await tokenSigner('new')];
    const write = (...signers: readonly TokenSigner[]) =>
      writeFile(path, JSON.stringify({ keys: signers.map(({ publicJwk }) => publicJwk) }));
    await write(old);
    const { authenticate, clock, lines } = running(
      context,
      configFor('https://issuer.example', { kind: 'file', path }),
    );
    const oldToken = await old.sign(goodClaims());
    assert.equal((await authenticate(oldToken))?.kind, 'authenticated');

    await writeFile(path, '-----BEGIN PRIVATE KEY-----\nhunter2');
    clock.now += 30_000;
    assert.equal(await authenticate(await renewed.sign(goodClaims())), undefined);
    assert.equal((await authenticate(oldToken))?.kind, 'authenticated');
    const { err } = lines.find(({ level }) => level === 'error')?.fields ?? {};
    assert.match(String(err), /keys\.json: is not JSON/);
    assert.doesNotMatch(String(err), /hunter2/);

    await write(renewed);
    clock.now += 30_000;
    assert.equal((await authenticate(await renewed.sign(goodClaims())))?.kind, 'authenticated');
    assert.equal(await authenticate(oldToken), undefined);
  });

  it('of service accounts are PEM, with the key IDs that kube-apiserver gives them', async (context) => {
    const folder = await temporaryFolder(context);
    const [one, two] = [await tokenSigner('', 'RS256'), await tokenSigner('', 'ES256')];
    await writeFile(join(folder, 'one.pub'), await publicPem(one));
    await writeFile(join(folder, 'two.pub'), await publicPem(two));
    const issuer = 'https://kubernetes.default.svc';
    const { authenticate } = running(context, {
      issuers: [],
      serviceAccounts: {
        issuers: [issuer, 'https://former.example'],
        keyFiles: [join(folder, 'one.pub'), join(folder, 'two.pub')],
        apiAudiences: [issuer],
      },
    });
    for (const signer of [one, two]) {
      const [key] = (await parsePublicKeyFile(await publicPem(signer))).keys;
      const claims = {
        ...goodClaims({ aud: [issuer] }),
        'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'web', uid: 'u-1' } },
      };
      for (const iss of [issuer, 'https://former.example']) {
        const caller = await authenticate(await signer.sign({ ...claims, iss }, { kid: key?.kid }));
        assert.ok(caller?.kind === 'authenticated');
        assert.equal(caller.user.name, 'system:serviceaccount:default:web');
      }
    }
  });
});

it('nothing is authenticated by tokens unless an issuer is configured', () => {
  const { logger } = recordingLogger();
  assert.equal(createJwtAuthenticator({ issuers: [], serviceAccounts: undefined }, logger), undefined);
});
