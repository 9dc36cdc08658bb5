import { Agent, fetch } from 'undici';
import type { FetchDocument } from '../../identity/jwt/fetch-document.ts';
import { checkServerIdentity } from '../destinations/server-identity.ts';

/** How the documents of one issuer are fetched. */
export interface IssuerFetch {
  readonly fetchDocument: FetchDocument;
  close(): Promise<void>;
}

/**
 * Fetches with connections of its own, so that the authority of one issuer is trusted for no other.
 * @param certificateAuthority PEM; then it alone is trusted, as by kube-apiserver. Default: Node's own authorities.
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
