import { createAssertionSigner } from '../../src/identity/assertion/sign-assertion.ts';
import { peerAssertionHeader } from '../../src/request/headers.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import { localId } from '../support/clusters/decision-rows.ts';
import { front } from './credentials.ts';
import { bearerTokenOf } from './oidc-tokens.ts';

/** A user whom an edge router or the issuer of tokens vouches for. */
export function user(name: string, options: Partial<Omit<UserInfo, 'name'>> = {}): UserInfo {
  return { name, uid: '', groups: [], extra: new Map(), ...options };
}

/** RBAC allows it everything. */
export const administrators = 'administrators';

/** Allowed on `/.mixed-version-proxy/`. */
export const admin = user('admin', { groups: [administrators] });

/** Request that an assertion is made for; the assertion holds for that alone. */
export interface AssertedFor {
  readonly target: string;
  /** Default GET. */
  readonly method?: string;
  /** Default: the router under test. */
  readonly destinationId?: string;
  /** The request carries the reroute mark. Default: it does not. */
  readonly rerouted?: boolean;
  /** Milliseconds since the epoch. Default: now. */
  readonly at?: number;
  /** Default: `front`, which every router under test believes. */
  readonly by?: typeof front;
}

/** A signed assertion that `who` calls. */
export async function assertion(who: UserInfo, request: AssertedFor): Promise<string> {
  const { target, method = 'GET', destinationId = localId, rerouted = false, at, by = front } = request;
  const signer = createAssertionSigner({
    key: by.key,
    issuer: by.issuer,
    ...(at === undefined ? {} : { clock: () => at }),
  });
  return signer.sign({ user: who, destinationId, method, target, rerouted });
}

/** The header line that makes a request `who`'s for a router on Node. */
export async function assertedBy(who: UserInfo, request: AssertedFor): Promise<readonly [string, string]> {
  return [peerAssertionHeader, await assertion(who, request)];
}

/** The same for an edge router, which knows callers by tokens: name and groups, and no more. */
export async function tokenOf({ name, uid, groups, extra }: UserInfo): Promise<readonly [string, string]> {
  if (uid !== '' || extra.size > 0) throw new Error(`no token of these cases carries all of ${name}`);
  return ['Authorization', `Bearer ${await bearerTokenOf(name, groups)}`];
}
