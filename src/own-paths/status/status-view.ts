import * as v from 'valibot';
import type { Immutable } from '../../snapshot/format/types.ts';

/** As `v.object`, but whatever else there is stays, although the type does not tell: a newer release may say more. */
function open<Entries extends v.ObjectEntries>(
  entries: Entries,
): v.GenericSchema<unknown, v.InferOutput<v.ObjectSchema<Entries, undefined>>> {
  return v.looseObject(entries);
}

/** What is shown is an age. */
const time = v.pipe(
  v.string(),
  v.check((text) => !Number.isNaN(Date.parse(text)), 'must be a time'),
);

const health = open({
  status: v.string(),
  cause: v.nullable(v.string()),
  since: v.nullable(time),
});

/** What is shown of `v1/status` (`RouterStatus`) of any router. */
export const statusViewSchema = open({
  form: v.string(),
  serverId: v.nullable(v.string()),
  /** Left out by routers of the release before. */
  readiness: v.optional(
    open({
      ready: v.boolean(),
      failures: v.array(open({ name: v.string(), reason: v.string() })),
    }),
  ),
  enabled: v.boolean(),
  /** Left out by routers of the release before. */
  preferredVersion: v.optional(
    open({
      configured: v.string(),
      scope: v.optional(v.string()),
      minor: v.nullable(v.string()),
      coming: v.nullish(open({ minor: v.string(), at: time }), null),
      enforcementDiffers: v.boolean(),
      /** Left out by routers of the release before. */
      required: v.optional(v.boolean(), false),
    }),
  ),
  snapshot: v.nullable(
    open({
      generation: v.number(),
      createdAt: time,
      old: v.boolean(),
      source: v.string(),
      /** These two are left out by routers of the release before. */
      extensionApis: v.optional(
        v.array(open({ groupVersion: v.string(), service: v.string(), available: v.boolean() })),
      ),
      customResourceGroups: v.optional(v.array(v.string())),
    }),
  ),
  /** Left out by routers of the release before. */
  embeddedSync: v.nullish(
    open({
      source: v.string(),
      lastReadAt: v.nullable(time),
      servers: v.optional(
        v.array(open({ id: v.string(), state: v.string(), failure: v.nullable(v.string()) })),
        [],
      ),
    }),
    null,
  ),
  /** Left out by routers of the release before. */
  found: v.optional(v.array(open({ flag: v.string(), value: v.string(), source: v.string() })), []),
  servers: v.array(
    open({
      id: v.string(),
      /** Left out by routers of the release before, as `serves` is. */
      hostname: v.nullish(v.string(), null),
      serves: v.nullish(v.string(), null),
      local: v.boolean(),
      address: v.nullable(v.string()),
      addressSource: v.optional(v.nullable(v.string()), null),
      version: v.nullable(v.string()),
      stale: v.boolean(),
      /** Older routers do not say. */
      departedAt: v.nullish(time, null),
      health,
    }),
  ),
  discovery: open({
    conflictCount: v.number(),
    conflicts: v.array(
      open({
        group: v.string(),
        version: v.string(),
        resource: v.string(),
        subresource: v.string(),
        field: v.string(),
        claims: v.array(open({ value: v.string(), serverIds: v.array(v.string()) })),
      }),
    ),
  }),
  /** Left out by routers of the release before, as `notBefore` is. */
  certificates: v.optional(
    v.array(
      open({
        name: v.string(),
        path: v.string(),
        subject: v.string(),
        notBefore: v.optional(v.string(), '1970-01-01T00:00:00Z'),
        notAfter: time,
      }),
    ),
    [],
  ),
  documents: v.array(open({ path: v.string(), server: v.string(), problem: v.string() })),
  warnings: v.array(v.string()),
});

export type StatusView = Immutable<v.InferOutput<typeof statusViewSchema>>;

/** @param text the text of `v1/status`. `undefined` when it is something else */
export function parseStatusView(text: string): StatusView | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), statusViewSchema), text);
  return result.success ? result.output : undefined;
}
