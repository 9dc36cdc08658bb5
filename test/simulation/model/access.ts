import type { ConnectionInfo } from '../../../src/request/inbound.ts';
import { generateSigningKey } from '../../../src/snapshot/signing/seal.ts';
import { createAuthority } from '../../support/certificates.ts';
import type { ArrivedRequest } from './network.ts';

/** Valid in the simulation's December 2026. */
const validity = { notBefore: new Date('2026-11-01T00:00:00Z'), notAfter: new Date('2028-01-01T00:00:00Z') };

/** Real PEM files, made once for each process: what is in them never decides about the order of anything. */
async function makeFiles() {
  const [cluster, other, front] = [
    await createAuthority('kubernetes'),
    await createAuthority('kubernetes-2'),
    await createAuthority('front-proxy-ca'),
  ];
  const dnsNames = ['kubernetes.default.svc', 'localhost'];
  const serving = await cluster.issue({ commonName: 'router', dnsNames, usage: 'server', ...validity });
  const proxy = await front.issue({ commonName: 'front-proxy-client', usage: 'client', ...validity });
  const pusher = await cluster.issue({
    commonName: 'sync',
    organizations: ['system:masters'],
    usage: 'client',
    ...validity,
  });
  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  return {
    authorities: { A: cluster.certificate, B: other.certificate } as Readonly<Record<string, string>>,
    frontAuthority: front.certificate,
    serving: { certificate: serving.chain, key: serving.privateKey },
    proxy: { certificate: proxy.chain, key: proxy.privateKey },
    pusher: { certificate: pusher.chain, key: pusher.privateKey },
    signingKey: privateJwk,
    snapshotKeys: JSON.stringify({ keys: [publicJwk] }),
  };
}

export const files = await makeFiles();
export type Files = typeof files;

/** Rights by credentials: as they stand at this moment of a run. */
export class Access {
  /** The readers' tokens that API servers accept now. */
  readonly tokens = new Set(['reader-token-1']);
  issued = 1;

  /** True if a bundle has the authority. */
  isIn(bundle: string, authority: string): boolean {
    return bundle.includes((files.authorities[authority] ?? 'none').trim());
  }

  nameIn(certificate: string): string {
    return certificate === files.pusher.certificate ? 'sync' : 'unknown';
  }

  /** As which client a router's server sees who is connected. */
  certificateOf({ headers }: ArrivedRequest): Pick<ConnectionInfo, 'clientCertificate'> {
    const at = headers.indexOf('x-simulated-certificate');
    const commonName = at === -1 ? undefined : headers[at + 1];
    if (commonName === undefined || commonName === 'unknown') return {};
    const organizations = commonName === 'sync' || commonName === 'admin' ? ['system:masters'] : ['dev'];
    return { clientCertificate: { commonName, organizations, authority: 'client-ca' } };
  }

  /** User that an API server takes the request for; `undefined`: 401. */
  userOf({ headers, isFrontProxy }: ArrivedRequest): string | undefined {
    const value = (name: string): string | undefined => {
      const at = headers.findIndex((text, index) => index % 2 === 0 && text === name);
      return at === -1 ? undefined : headers[at + 1];
    };
    const remote = value('x-remote-user');
    if (isFrontProxy && remote !== undefined) return remote;
    const token = value('authorization')?.slice('Bearer '.length);
    if (token === undefined) return 'system:anonymous';
    if (token.startsWith('user-')) return token.slice('user-'.length);
    return this.tokens.has(token) ? 'reader' : undefined;
  }
}
