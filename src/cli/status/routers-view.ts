import type { RouterStatus } from '../../own-paths/status/status-schema.ts';

/** Several routers, as they tell of themselves. */
export interface RoutersView {
  /** Whether they decide alike. `null`: not known, since not all told what they know. */
  readonly agree: boolean | null;
  readonly differences: readonly Difference[];
  /** IDs of the servers whose routers could not be asked, because no address of them is known. */
  readonly notAsked: readonly string[];
  readonly routers: readonly RouterOfServer[];
}

/** Something that routers say differently. */
export interface Difference {
  /** What it is about: a setting, or a server. */
  readonly subject: string;
  readonly values: readonly { readonly value: string; readonly routers: readonly string[] }[];
}

/** A router as one of several. */
export interface RouterOfServer {
  /** Where it was asked, `https://host:port`. */
  readonly server: string;
  /** Of the server that it stands before; `null`: a gateway, or not known. */
  readonly serverId: string | null;
  /** Why it does not tell, in a sentence that names `server`; `null` where it does. */
  readonly error: string | null;
  /** Its `v1/status`; `null` where it does not tell. */
  readonly status: RouterStatus | null;
}
