import * as v from 'valibot';

const health = v.object({
  status: v.string(),
  cause: v.nullable(v.string()),
  since: v.nullable(v.string()),
});

/** What the command shows of `v1/status` (src/own-paths/status/router-status.ts); a newer router may say more. */
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
      minor: v.nullable(v.string()),
      enforcementDiffers: v.boolean(),
      /** Left out by routers of the release before. */
      required: v.optional(v.boolean(), false),
    }),
  ),
  snapshot: v.nullable(
    v.object({
      generation: v.number(),
      createdAt: v.string(),
      expiresAt: v.string(),
      expired: v.boolean(),
      source: v.string(),
    }),
  ),
  /** Left out by routers of the release before. */
  embeddedSync: v.nullish(v.object({ source: v.string(), lastReadAt: v.nullable(v.string()) }), null),
  /** Left out by routers of the release before. */
  found: v.optional(v.array(v.object({ flag: v.string(), value: v.string(), source: v.string() })), []),
  servers: v.array(
    v.object({
      id: v.string(),
      local: v.boolean(),
      address: v.nullable(v.string()),
      addressSource: v.optional(v.nullable(v.string()), null),
      version: v.nullable(v.string()),
      stale: v.boolean(),
      /** Older routers do not say. */
      departedAt: v.nullish(v.string(), null),
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

export type StatusView = v.InferOutput<typeof statusViewSchema>;

/** @param text the text of `v1/status`. `undefined` when it is something else. */
export function parseStatusView(text: string): StatusView | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), statusViewSchema), text);
  return result.success ? result.output : undefined;
}
