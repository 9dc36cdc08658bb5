import type { AssertionSigner } from '../../identity/assertion/assertion-signer.ts';
import type { Destination } from '../../request/destination.ts';
import type { PreferredVersion } from '../../routing/decision.ts';
import type { DocumentIssue } from '../../runtime/validation.ts';
import type { AddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import type { AnalyticsDataset, DurableObjectNamespace, Fetcher } from '../platform/bindings.ts';

export interface SnapshotConfiguration {
  readonly keys: PinnedKeySet;
  readonly addressPolicy: AddressPolicy;
  /** `undefined`: each isolate keeps its own. */
  readonly object: DurableObjectNamespace | undefined;
  /** Name of the object in the namespace. Another name is another object, which is empty. */
  readonly objectName: string;
  /** Sealed; what an isolate begins with. */
  readonly initial: string | undefined;
  readonly preferredVersion: PreferredVersion;
}

/** The issuer whose tokens are believed: a team of Cloudflare Access, or any other issuer of JSON Web Tokens. */
export interface TokenIssuer {
  readonly issuer: string;
  /** One of the `aud` of tokens that are meant for this router. */
  readonly audience: string;
  readonly keysUrl: URL;
  readonly usernameClaim: string;
  /** `undefined`: tokens name no groups. */
  readonly groupsClaim: string | undefined;
}

/** How callers are established; with neither, every caller's own credentials pass through. */
export interface CallerMethods {
  /** The platform's word about them counts. */
  readonly clientCertificates: boolean;
  readonly tokenIssuer: TokenIssuer | undefined;
}

/** Where requests are told of; with neither, nowhere. */
export interface ObserverConfiguration {
  /** A line on the console for each. */
  readonly accessLog: boolean;
  readonly analytics: AnalyticsDataset | undefined;
}

export interface WorkerConfiguration {
  /** `undefined`: the gateway form. */
  readonly local: Destination | undefined;
  /** Presents the front-proxy certificate. */
  readonly frontProxy: Fetcher | undefined;
  /** Presents none; `undefined` is the global `fetch`. */
  readonly destinations: Fetcher | undefined;
  /** How destinations are told who calls; `undefined`: by X-Remote headers. */
  readonly assertions: { readonly signer: AssertionSigner; readonly issuer: string } | undefined;
  readonly callers: CallerMethods;
  readonly observers: ObserverConfiguration;
  readonly snapshot: SnapshotConfiguration;
}

/** Every error: its path is a variable's or binding's name, its message a predicate that never quotes a value. */
export class WorkerConfigurationError extends Error {
  override readonly name = 'WorkerConfigurationError';
  readonly issues: readonly DocumentIssue[];
  constructor(issues: readonly DocumentIssue[]) {
    const list = issues.map(({ path, message }) => `${path} ${message}`).join('; ');
    super(`The Worker's variables and bindings have errors: ${list}.`);
    this.issues = issues;
  }
}
