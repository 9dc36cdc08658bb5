import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { createAuthority, issueWithoutAuthority } from '../../../test/support/certificates.ts';
import { type ClientAuthorities, findAuthority, readClientAuthorities } from './client-certificate.ts';

const cluster = await createAuthority('kubernetes');
const authorities = readClientAuthorities({
  clientCa: cluster.certificate,
  requestHeaderCa: (await createAuthority('kubernetes-front-proxy-ca')).certificate,
});

describe('the authority that a chain ends in', () => {
  const parse = (...pems: string[]): X509Certificate[] => pems.map((pem) => new X509Certificate(pem));

  it('is the nearest configured one', async () => {
    const intermediate = await cluster.createIntermediate('front-proxies');
    const nested = readClientAuthorities({
      clientCa: cluster.certificate,
      requestHeaderCa: intermediate.certificate,
    });
    const pair = await intermediate.issue({ commonName: 'front-proxy', usage: 'client' });
    const chain = parse(pair.certificate, intermediate.certificate, cluster.certificate);
    const outcome = findAuthority(chain, nested);
    assert.ok('authority' in outcome);
    assert.equal(outcome.authority, 'requestheader-client-ca');
    const direct = findAuthority(
      parse((await cluster.issue({ commonName: 'a', usage: 'client' })).certificate),
      nested,
    );
    assert.ok('authority' in direct);
    assert.equal(direct.authority, 'client-ca');
  });

  it('may be the certificate itself, compared byte for byte', async () => {
    const outcome = findAuthority(parse(cluster.certificate), authorities);
    assert.ok('authority' in outcome);
    assert.equal(outcome.authority, 'client-ca');
    assert.ok(
      'error' in findAuthority(parse((await createAuthority('kubernetes')).certificate), authorities),
    );
  });

  it('is none where one bundle is as near as the other', async () => {
    const both: ClientAuthorities = {
      clientCa: parse(cluster.certificate),
      requestHeaderCa: parse((await cluster.renew()).certificate),
    };
    const user = parse((await cluster.issue({ commonName: 'a', usage: 'client' })).certificate);
    assert.deepEqual(findAuthority(user, both), {
      error: 'the certificate descends from authorities of both bundles',
    });
  });

  it('is none where an intermediate is no authority, did not sign, or is for servers only', async () => {
    const user = await cluster.issue({ commonName: 'mallory', usage: 'unrestricted' });
    const forged = await issueWithoutAuthority('mallory', user, { commonName: 'admin', usage: 'client' });
    const namesake = await (await createAuthority('team')).issue({ commonName: 'admin', usage: 'client' });
    const forServers = await cluster.createIntermediate('servers', 'server');
    const misissued = await forServers.issue({ commonName: 'admin', usage: 'client' });
    for (const chain of [
      parse(misissued.certificate, forServers.certificate, cluster.certificate),
      parse(forged.certificate, user.certificate, cluster.certificate),
      parse(
        namesake.certificate,
        (await cluster.createIntermediate('team')).certificate,
        cluster.certificate,
      ),
    ]) {
      assert.deepEqual(findAuthority(chain, authorities), {
        error: 'an intermediate certificate may not have issued the one below it',
      });
    }
  });

  it('is none where the key is that of an authority, but not its name', async () => {
    const renamed = readClientAuthorities({ clientCa: (await cluster.renew('other')).certificate });
    const user = await cluster.issue({ commonName: 'jane', usage: 'client' });
    assert.deepEqual(findAuthority(parse(user.certificate), renamed), {
      error: 'the certificate does not descend from a configured authority',
    });
  });

  it('is none for a certificate that is not meant for clients; any extended key usage will do', async () => {
    const server = parse((await cluster.issue({ commonName: 'a', usage: 'server' })).certificate);
    assert.match(JSON.stringify(findAuthority(server, authorities)), /extended key usage/);
    const any = parse((await cluster.issue({ commonName: 'a', usage: 'any' })).certificate);
    assert.ok('authority' in findAuthority(any, authorities));
  });

  it('is not looked for in chains of absurd length', async () => {
    let deep = cluster;
    for (let depth = 0; depth < 10; depth++) deep = await deep.createIntermediate(`level-${depth}`);
    const pair = await deep.issue({ commonName: 'a', usage: 'client' });
    const chain = parse(...(pair.chain.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []));
    assert.equal(chain.length, 11);
    assert.ok('error' in findAuthority(chain, authorities));
    assert.ok('authority' in findAuthority(chain.slice(2), authorities));
  });
});
