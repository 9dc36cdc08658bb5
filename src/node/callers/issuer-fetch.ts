import { Agent, fetch } from 'undici';
import type { FetchDocument } from '../../identity/jwt/fetch-document.ts';
import { checkServerIdentity } from '../destinations/server-identity.ts';

export interface IssuerFetch {
  readonly fetchDocument: FetchDocument;
  close(): Promise<void>;
}

/**
 * Fetches the documents of one issuer with connections of its own, so that its authority is trusted for no other.
 * @param certificateAuthority PEM; then only this one is trusted, as in kube-apiserver. Default: Node's own authorities
 */
export function issuerFetch(certificateAuthority: string | undefined): IssuerFetch {
  const dispatcher = new Agent({
    connect: {
      checkServerIdentity,
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
    },
  });
  return {
    fetchDocument: (url, init) => fetch(url, { ...init, dispatcher }),
    close: () => dispatcher.destroy(),
  };
}
