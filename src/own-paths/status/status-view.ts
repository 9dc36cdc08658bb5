import * as v from 'valibot';
import type { Immutable } from '../../snapshot/format/schema.ts';

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

const statusViewSchema = open({
  form: v.string(),
  serverId: v.nullable(v.string()),
  readiness: open({
    ready: v.boolean(),
    failures: v.array(open({ name: v.string(), reason: v.string() })),
  }),
  enabled: v.boolean(),
  preferredVersion: open({
    configured: v.string(),
    scope: v.string(),
    minor: v.nullable(v.string()),
    coming: v.nullable(open({ minor: v.string(), at: time })),
    enforcementDiffers: v.boolean(),
    required: v.boolean(),
  }),
  snapshot: v.nullable(
    open({
      generation: v.number(),
      createdAt: time,
      old: v.boolean(),
      source: v.string(),
      extensionApis: v.array(open({ groupVersion: v.string(), service: v.string(), available: v.boolean() })),
      customResourceGroups: v.array(v.string()),
    }),
  ),
  embeddedSync: v.nullable(
    open({
      source: v.string(),
      lastReadAt: v.nullable(time),
      servers: v.array(open({ id: v.string(), state: v.string(), failure: v.nullable(v.string()) })),
    }),
  ),
  found: v.array(open({ flag: v.string(), value: v.string(), source: v.string() })),
  servers: v.array(
    open({
      id: v.string(),
      hostname: v.nullable(v.string()),
      serves: v.nullable(v.string()),
      local: v.boolean(),
      address: v.nullable(v.string()),
      addressSource: v.nullable(v.string()),
      version: v.nullable(v.string()),
      stale: v.boolean(),
      departedAt: v.nullable(time),
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
  certificates: v.array(
    open({
      name: v.string(),
      path: v.string(),
      subject: v.string(),
      notBefore: v.string(),
      notAfter: time,
    }),
  ),
  documents: v.array(open({ path: v.string(), server: v.string(), problem: v.string() })),
  warnings: v.array(open({ message: v.string(), see: v.nullable(v.string()) })),
});

export type StatusView = Immutable<v.InferOutput<typeof statusViewSchema>>;

/** @param text the text of `v1/status`. `undefined` when it is something else */
export function parseStatusView(text: string): StatusView | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), statusViewSchema), text);
  return result.success ? result.output : undefined;
}
