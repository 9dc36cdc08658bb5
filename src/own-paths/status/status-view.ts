import * as v from 'valibot';
import type { Immutable } from '../../snapshot/format/types.ts';

/** What is shown is an age. */
const time = v.pipe(
  v.string(),
  v.check((text) => !Number.isNaN(Date.parse(text)), 'must be a time'),
);

const health = v.object({
  status: v.string(),
  cause: v.nullable(v.string()),
  since: v.nullable(time),
});

/** What is shown of `v1/status` (`RouterStatus`) of any router; one of a newer release may say more. */
const statusViewSchema = v.object({
  form: v.string(),
  serverId: v.nullable(v.string()),
  /** Left out by routers of the release before. */
  readiness: v.optional(
    v.object({
      ready: v.boolean(),
      failures: v.array(v.object({ name: v.string(), reason: v.string() })),
    }),
  ),
  enabled: v.boolean(),
  stalePolicy: v.string(),
  /** Left out by routers of the release before. */
  preferredVersion: v.optional(
    v.object({
      configured: v.string(),
      scope: v.optional(v.string()),
      minor: v.nullable(v.string()),
      enforcementDiffers: v.boolean(),
      /** Left out by routers of the release before. */
      required: v.optional(v.boolean(), false),
    }),
  ),
  snapshot: v.nullable(
    v.object({
      generation: v.number(),
      createdAt: time,
      expiresAt: time,
      expired: v.boolean(),
      source: v.string(),
      /** These two are left out by routers of the release before. */
      extensionApis: v.optional(
        v.array(v.object({ groupVersion: v.string(), service: v.string(), available: v.boolean() })),
      ),
      customResourceGroups: v.optional(v.array(v.string())),
    }),
  ),
  /** Left out by routers of the release before. */
  embeddedSync: v.nullish(
    v.object({
      source: v.string(),
      lastReadAt: v.nullable(time),
      servers: v.optional(
        v.array(v.object({ id: v.string(), state: v.string(), failure: v.nullable(v.string()) })),
        [],
      ),
    }),
    null,
  ),
  /** Left out by routers of the release before. */
  found: v.optional(v.array(v.object({ flag: v.string(), value: v.string(), source: v.string() })), []),
  servers: v.array(
    v.object({
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
  discovery: v.object({
    conflictCount: v.number(),
    conflicts: v.array(
      v.object({
        group: v.string(),
        version: v.string(),
        resource: v.string(),
        subresource: v.string(),
        field: v.string(),
        claims: v.array(v.object({ value: v.string(), serverIds: v.array(v.string()) })),
      }),
    ),
  }),
  documents: v.array(v.object({ path: v.string(), server: v.string(), problem: v.string() })),
  warnings: v.array(v.string()),
});

export type StatusView = Immutable<v.InferOutput<typeof statusViewSchema>>;

/** @param text the text of `v1/status`. `undefined` when it is something else. What is not shown stays in it. */
export function parseStatusView(text: string): StatusView | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), v.looseObject({})), text);
  return result.success ? statusViewOf(result.output) : undefined;
}

/** As `parseStatusView`, of what has been parsed. */
export function statusViewOf(json: object): StatusView | undefined {
  const result = v.safeParse(statusViewSchema, json);
  return result.success ? { ...json, ...result.output } : undefined;
}
