import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { parse } from 'yaml';

const probe = v.nullish(
  v.object({
    httpGet: v.object({
      host: v.nullish(v.string(), '127.0.0.1'),
      path: v.string(),
      port: v.union([v.number(), v.string()]),
    }),
    initialDelaySeconds: v.nullish(v.number(), 0),
    periodSeconds: v.nullish(v.number(), 10),
    timeoutSeconds: v.nullish(v.number(), 1),
    failureThreshold: v.nullish(v.number(), 3),
  }),
);
const pod = v.looseObject({
  metadata: v.looseObject({ name: v.string() }),
  spec: v.looseObject({
    hostNetwork: v.literal(true),
    terminationGracePeriodSeconds: v.nullish(v.number(), 30),
    containers: v.tuple([
      v.looseObject({
        image: v.string(),
        command: v.nullish(v.array(v.string()), []),
        args: v.nullish(v.array(v.string()), []),
        ports: v.nullish(
          v.array(v.looseObject({ name: v.nullish(v.string()), containerPort: v.number() })),
          [],
        ),
        startupProbe: probe,
        // Probe of the router: its port alone.
        livenessProbe: v.fallback(probe, undefined),
      }),
    ]),
    volumes: v.nullish(
      v.array(v.looseObject({ hostPath: v.object({ path: v.string(), type: v.nullish(v.string()) }) })),
      [],
    ),
  }),
});

export interface Probe {
  readonly url: string;
  /** Milliseconds. */
  readonly initialDelay: number;
  readonly period: number;
  readonly timeout: number;
  readonly failureThreshold: number;
}

/** The parts that a kubelet reads in the manifest of a static pod of one container on the host's network. */
export interface StaticPod {
  readonly name: string;
  /** Changes with the manifest. */
  readonly hash: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  /** On the host's network each port of a container is one of the host's. */
  readonly hostPorts: readonly number[];
  readonly volumes: readonly { readonly path: string; readonly type: string }[];
  readonly startupProbe: Probe | undefined;
  readonly livenessProbe: Probe | undefined;
  /** Milliseconds. */
  readonly grace: number;
  /** The pod, for its mirror in the API. */
  readonly manifest: Readonly<Record<string, unknown>>;
}

/** @throws when it is no such pod */
export function parseStaticPod(text: string): StaticPod {
  const manifest = parse(text);
  const { metadata, spec } = v.parse(pod, manifest);
  const [{ image, command, args, ports, startupProbe, livenessProbe }] = spec.containers;
  const numberOf = (port: string | number): number =>
    typeof port === 'number' ? port : (ports.find(({ name }) => name === port)?.containerPort ?? 0);
  const probed = (each: v.InferOutput<typeof probe>): Probe | undefined =>
    each
      ? {
          url: `https://${each.httpGet.host}:${numberOf(each.httpGet.port)}${each.httpGet.path}`,
          initialDelay: each.initialDelaySeconds * 1000,
          period: each.periodSeconds * 1000,
          timeout: each.timeoutSeconds * 1000,
          failureThreshold: each.failureThreshold,
        }
      : undefined;
  return {
    name: metadata.name,
    hash: createHash('sha256').update(text).digest('hex').slice(0, 32),
    image,
    command,
    args,
    hostPorts: ports.map(({ containerPort }) => containerPort),
    volumes: spec.volumes.map(({ hostPath }) => ({ path: hostPath.path, type: hostPath.type ?? '' })),
    startupProbe: probed(startupProbe),
    livenessProbe: probed(livenessProbe),
    grace: spec.terminationGracePeriodSeconds * 1000,
    manifest,
  };
}
