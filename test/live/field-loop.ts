import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsAnswer, type TlsCredentials, tlsRequest } from './tls-request.ts';

/** A resource that every version of the suite serves, with a field that only newer ones know (1.33 alpha, 1.35 beta). */
const collection = (namespace: string) =>
  `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;

const metricsOfCpu = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};

/** Written out, so that every version has the same defaults to add: none. */
function autoscaler(name: string) {
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 3,
      metrics: [metricsOfCpu],
      behavior: { scaleUp: { tolerance: '50m' } },
    },
  };
}

export interface FieldCounts {
  /** Objects that were created, read, labelled, applied, written back and looked at in the end. */
  rounds: number;
  /** Objects that were stored with the field. */
  stored: number;
  /** Reads that did not show a field that was stored. */
  hidden: number;
  /** Objects whose field was stored and is gone from etcd. */
  lost: number;
  /** Applied objects that were refused because the server does not know the field. */
  unknown: number;
  /** Responses with a Warning of the router's: none of the preferred version could be asked. */
  warned: number;
  /** Any other code that was not expected, and requests without an answer. */
  failed: number;
}

export interface FieldLoop {
  readonly counts: Readonly<FieldCounts>;
  readonly failures: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/**
 * Takes one object after the other through what clients do: create, read, label, server-side apply, read and write back,
 * each request by another of the ways in. An object that was stored with the field has to keep it.
 *
 * @param origins ways into the cluster that are to be one: each request goes by one of them at random
 * @param truth a server that knows the field: what it shows is what etcd holds
 */
export function startFieldLoop(
  origins: readonly string[],
  truth: () => string,
  namespace: string,
  credentials: TlsCredentials,
  prefix: string,
): FieldLoop {
  const counts: FieldCounts = {
    rounds: 0,
    stored: 0,
    hidden: 0,
    lost: 0,
    unknown: 0,
    warned: 0,
    failed: 0,
  };
  const failures = new Map<string, number>();
  const path = collection(namespace);
  let isStopped = false;

  async function ask(method: string, target: string, type?: string, object?: object) {
    const origin = origins[Math.floor(Math.random() * origins.length)] as string;
    try {
      const answer = await tlsRequest(`${origin}${target}`, credentials, {
        method,
        timeout: 5_000,
        ...(object === undefined ? {} : { body: JSON.stringify(object) }),
        ...(type === undefined ? {} : { headers: { 'content-type': type } }),
      });
      if (String(answer.headers.warning ?? '').includes('preferred version')) counts.warned++;
      return answer;
    } catch (error) {
      note(error instanceof Error && 'code' in error ? `${String(error.code)} ${method}` : String(error));
      return undefined;
    }
  }

  function note(what: string): void {
    counts.failed++;
    failures.set(what, (failures.get(what) ?? 0) + 1);
  }

  function expect(answer: TlsAnswer | undefined, method: string, ...codes: readonly number[]): boolean {
    if (answer === undefined) return false;
    if (codes.includes(answer.statusCode)) return true;
    note(`${answer.statusCode} ${method} ${answer.text.slice(0, 120)}`);
    return false;
  }

  async function round(name: string): Promise<void> {
    const target = `${path}/${name}`;
    const created = await ask('POST', path, 'application/json', autoscaler(name));
    if (!expect(created, 'POST', 201, 409)) return;
    let isStored = created !== undefined && hasField(created);

    const read = await ask('GET', target);
    if (!expect(read, 'GET', 200)) return;
    if (isStored && read !== undefined && !hasField(read)) counts.hidden++;

    const label = { metadata: { labels: { changed: 'true' } } };
    expect(await ask('PATCH', target, 'application/merge-patch+json', label), 'PATCH', 200);

    const manager = `${target}?fieldManager=live&force=true`;
    const applied = await ask('PATCH', manager, 'application/apply-patch+yaml', autoscaler(name));
    if (applied !== undefined && /field not declared in schema/.test(applied.text)) counts.unknown++;
    else if (expect(applied, 'APPLY', 200) && applied !== undefined) isStored ||= hasField(applied);

    const current = await ask('GET', target);
    if (!expect(current, 'GET', 200) || current === undefined) return;
    if (isStored && !hasField(current)) counts.hidden++;
    const edited = JSON.parse(current.text) as { metadata: { annotations?: object } };
    edited.metadata.annotations = { edited: 'true' };
    // A conflict is what optimistic locking is for: somebody's read was older.
    expect(await ask('PUT', target, 'application/json', edited), 'PUT', 200, 409);

    const truly = await tlsRequest(`${truth()}${target}`, credentials).catch(() => undefined);
    if (truly?.statusCode !== 200) return;
    counts.rounds++;
    if (!isStored) return;
    counts.stored++;
    if (!hasField(truly)) counts.lost++;
  }

  const running = (async () => {
    for (let number = 0; !isStopped; number++) {
      await round(`${prefix}-${number}`);
      await sleep(10);
    }
  })();
  return {
    counts,
    failures,
    stop() {
      isStopped = true;
      return running;
    },
  };
}

function hasField({ text }: TlsAnswer): boolean {
  return text.includes('"tolerance":"50m"');
}

/** One line of what came of it. */
export function describeFields({ counts, failures }: FieldLoop): string {
  const { rounds, stored, hidden, lost, unknown, warned, failed } = counts;
  const details = [...failures].map(([what, times]) => `${what} ×${times}`).join(', ');
  return (
    `${rounds} objects, ${stored} stored with the field, ${lost} lost it, ${hidden} reads hid it, ` +
    `${unknown} applies refused, ${warned} warnings, ${failed} failed${details === '' ? '' : ` (${details})`}`
  );
}
