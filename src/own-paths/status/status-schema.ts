import * as v from 'valibot';
import { fromJson } from '../../runtime/validation.ts';
import type { Immutable } from '../../snapshot/format/schema.ts';

/** As `v.object`, but whatever else there is stays, although the type does not tell: a newer release may say more. */
function open<Entries extends v.ObjectEntries>(
  entries: Entries,
): v.GenericSchema<unknown, v.InferOutput<v.ObjectSchema<Entries, undefined>>> {
  return v.looseObject(entries);
}

/** RFC 3339. What is shown is an age. */
const time = v.pipe(
  v.string(),
  v.check((text) => !Number.isNaN(Date.parse(text)), 'must be a time'),
);
const texts = v.array(v.string());

/** A server's state as this router finds it (`ServerState`). `untried`: it has not been asked, or health checks are off. */
const health = open({
  status: v.string(),
  /** Why it is in this state; `null`: the name of the state says all. */
  reason: v.nullable(v.string()),
  since: v.nullable(time),
});

/** A file that the router uses. */
const file = {
  /** Purpose of the file: the flag that names it, without dashes. */
  name: v.string(),
  path: v.string(),
  /** When a changed file was last taken into use; `null`: it is as it was at start. */
  lastReload: v.nullable(time),
  /** Why the file as it is now is not in use, the one before it still is; `null`: it is in use. */
  lastError: v.nullable(v.string()),
};

/** The document of `v1/status`. */
const routerStatus = open({
  /** `sidecar`, or `gateway`: no server is local. */
  form: v.string(),
  /** ID of the local server; `null` in the gateway form. */
  serverId: v.nullable(v.string()),
  /** Health of the local server, which need not be in the snapshot; `null` in the gateway form. */
  localServer: v.nullable(health),
  /** Result of `/readyz`, with its reasons. */
  readiness: open({
    ready: v.boolean(),
    failures: v.array(open({ name: v.string(), reason: v.string() })),
  }),
  enabled: v.boolean(),
  /** Which version serves what servers of several versions understand differently. */
  preferredVersion: open({
    /** `majority`, `newest`, `oldest`, `local`, or a minor version. */
    configured: v.string(),
    /** Version that this comes to by the snapshot; `null` while the servers are of one version, or not compared yet. */
    minor: v.nullable(v.string()),
    /** Version that this comes to from an instant on, the same at every router; `null` while no change is foreseen. */
    coming: v.nullable(open({ minor: v.string(), at: time })),
    /** Servers enforce different admission policies, so that every write goes to that version. */
    enforcementDiffers: v.boolean(),
  }),
  /** `null`: there has been none. */
  snapshot: v.nullable(
    open({
      generation: v.number(),
      createdAt: time,
      /** Nobody has renewed it for long; it is used all the same. */
      old: v.boolean(),
      source: v.string(),
      /** The name that the sync job was given for it; `null`: none. */
      cluster: v.nullable(v.string()),
      /** APIs of extension API servers: `metrics.k8s.io/v1beta1`, `<namespace>/<name>`. */
      extensionApis: v.array(open({ groupVersion: v.string(), service: v.string(), available: v.boolean() })),
      /** For example `example.com/v1`. */
      customResourceGroups: texts,
    }),
  ),
  /** The last reading of the sync job in this router; `null` where snapshots are pushed. */
  embeddedSync: v.nullable(
    open({
      /** The kubeconfig by which the cluster is read, or `in-cluster`. */
      source: v.string(),
      /** When it last could read a server; `null` before that. */
      lastReadAt: v.nullable(time),
    }),
  ),
  servers: v.array(
    open({
      id: v.string(),
      /** Name of its machine. */
      hostname: v.nullable(v.string()),
      local: v.boolean(),
      address: v.nullable(v.string()),
      /** Source of the address (`RoutingServer.addressSource`). */
      addressSource: v.nullable(v.string()),
      version: v.nullable(v.string()),
      /**
       * By what it does: `1.36`, `1.36 emulating 1.35`, or `1.36, feature gates 1f0c77aa` where servers of one version differ.
       * Left out by earlier routers.
       */
      countedAs: v.optional(v.nullable(v.string())),
      /** Servers with the same one serve the same: the key of `servedSets` in the snapshot. */
      serves: v.nullable(v.string()),
      /** The sync job could not read it lately; what it serves is the last that is known. */
      stale: v.boolean(),
      /** When it left, if it has and may come back: what only it serves is 503 meanwhile. */
      departedAt: v.nullable(time),
      health,
    }),
  ),
  /** Comparison of what servers serve; `null`: there has been no snapshot. */
  served: v.nullable(
    open({
      /** Servers of one version that serve the same, however many they are. The oldest version first. */
      columns: v.array(open({ version: v.nullable(v.string()), servers: texts })),
      /** In one version each: `batch/v1` and `batch/v1beta1` of one resource count twice. */
      resources: v.number(),
      /** Resources that not all servers serve. Groups and resources are in the order of their names, core first. */
      differing: v.array(
        open({
          group: v.string(),
          rows: v.array(
            open({
              version: v.string(),
              resource: v.string(),
              /** Empty when it is about the resource itself. */
              subresource: v.string(),
              /**
               * One for each column. `unknown`: nothing is known of these servers' subresources, and they are taken to
               * serve it (see `ServedSet.subresources`).
               */
              cells: v.array(v.picklist(['served', 'missing', 'unknown'])),
            }),
          ),
        }),
      ),
    }),
  ),
  /** Also a token of the kubeconfig that says when it expires. Empty on runtimes that read no certificates from files. */
  certificates: v.array(
    open({
      ...file,
      /** Subject of the certificate in it that ends first; attributes joined by `, `. For a token: whose it is. */
      subject: v.string(),
      notBefore: time,
      notAfter: time,
      /** Whole days until then, rounded down: negative once it has expired. */
      daysLeft: v.number(),
    }),
  ),
  /** JSON Web Key Sets. */
  keyFiles: v.array(open(file)),
  /** Settings that were detected on this machine or in the cluster, and where. */
  found: v.array(open({ flag: v.string(), value: v.string(), source: v.string() })),
  /** The router works, and something needs attention: what to do, and the page of the documentation that says more. */
  warnings: v.array(open({ message: v.string(), see: v.nullable(v.string()) })),
});

export type RouterStatus = Immutable<v.InferOutput<typeof routerStatus>>;
export type ServedComparison = NonNullable<RouterStatus['served']>;
export type DifferingGroup = ServedComparison['differing'][number];
export type DifferingRow = DifferingGroup['rows'][number];

/** @param text the text of `v1/status`. `undefined` when it is something else */
export function parseRouterStatus(text: string): RouterStatus | undefined {
  const result = v.safeParse(fromJson(routerStatus), text);
  return result.success ? result.output : undefined;
}
