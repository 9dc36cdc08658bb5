import * as v from 'valibot';
import { type StatusView, statusViewSchema } from '../status/status-view.ts';

/** What `v1/routers` shows: this router, and those of the other servers, as they tell of themselves. */
export interface RoutersView {
  /** Whether they decide alike. `null`: not known, since not all told what they know. */
  readonly agree: boolean | null;
  readonly differences: readonly Difference[];
  /** IDs of the servers whose routers could not be asked, because no address of them is known. */
  readonly notAsked: readonly string[];
  /** This one first. */
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
  /** Where it was asked, `https://host:port`; of the one that tells, where others ask it, or `this router`. */
  readonly server: string;
  /** Of the server that it stands before; `null`: a gateway, or not known. */
  readonly serverId: string | null;
  /** Why it does not tell, in a sentence that names `server`; `null` where it does. */
  readonly error: string | null;
  /** Its `v1/status`; `null` where it does not tell. */
  readonly status: StatusView | null;
}

const routersSchema = v.object({
  notAsked: v.array(v.string()),
  routers: v.array(
    v.object({
      server: v.string(),
      serverId: v.nullable(v.string()),
      error: v.nullable(v.string()),
      status: v.nullable(statusViewSchema),
    }),
  ),
});

/** @param text the text of `v1/routers`. `undefined` when it is something else. */
export function parseRoutersView(text: string): Pick<RoutersView, 'notAsked' | 'routers'> | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), routersSchema), text);
  return result.success ? result.output : undefined;
}
