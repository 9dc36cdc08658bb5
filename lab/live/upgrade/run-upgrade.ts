import { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { postObject, type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { ApiServerBinary } from '../cluster/assets.ts';
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts';
import type { KubeApiServer } from '../cluster/kube-apiserver.ts';
import { exclusivePaths } from '../loops/exclusive-resources.ts';
import { type FieldLoop, startFieldLoop } from '../loops/field-loop.ts';
import type { Loop } from '../loops/loop.ts';
import { type NewField, newFieldOf } from '../loops/new-field.ts';
import { makeMutatingPolicy } from '../loops/policy-writes.ts';
import { faultsOfStep, type RouterFault } from './faults.ts';
import { countedVersionAt, followPreferred, type KnownAt, untilKnown } from './known.ts';
import { type MutatedLoop, startMutatedLoop } from './mutated-loop.ts';
import { type ServedLoop, type ServedPaths, startServedLoop } from './served-loop.ts';
import { enforcesPolicies, majorityOf, type Stop, type UpgradeStep } from './steps.ts';
import { type Form, inTreeFlags, isRouted, openWays, type Way, type Ways } from './ways.ts';

/** Pause before a server that does not respond yet is asked again. Milliseconds. */
const retryPause = 25;

/** Resources that the servers of an upgrade serve, by their own answers, and which of them are there. */
interface ServerStates extends ServedPaths {
  /** The server is ready in the version that it runs: its resources are there from now on, also while it is away. */
  ready(server: KubeApiServer): void;
  /** The server was started in another version: resources of the version before may be gone. */
  launched(server: KubeApiServer): void;
  stopped(server: KubeApiServer): void;
  /** Learns what a version serves from this server, once that responds. */
  learn(server: KubeApiServer): Promise<void>;
  /** A path that `version` serves and `before` does not; `undefined` while that is not known, `null` where there is none. */
  pathOf(version: string, before: string): string | null | undefined;
  /** A server that is ready, of this minor version or a newer one. */
  readyServer(since: number): KubeApiServer | undefined;
}

function createServerStates(credentials: TlsCredentials): ServerStates {
  const servedBy = new Map<string, ReadonlySet<string>>();
  /** By version and path; of a version that is being learnt, as far as its server has answered. */
  const answers = new Map<string, Map<string, boolean>>();
  /** The version that each server is counted as. */
  const versions = new Map<string, string>();
  const up = new Set<KubeApiServer>();
  return {
    ready(server) {
      up.add(server);
      versions.set(server.name, server.binary().version);
    },
    launched: (server) => void versions.delete(server.name),
    stopped: (server) => void up.delete(server),
    async learn(server) {
      const { version } = server.binary();
      if (servedBy.has(version)) return;
      const isServed = new Map<string, boolean>();
      answers.set(version, isServed);
      const agent = new Agent({ keepAlive: true });
      const ask = async (path: string): Promise<void> => {
        let statusCode = 0;
        while (statusCode !== 200 && statusCode !== 404) {
          const answer = await tlsRequest(`${server.url}${path}`, credentials, { agent }).catch(
            () => undefined,
          );
          statusCode = answer?.statusCode ?? 0;
          if (statusCode !== 200 && statusCode !== 404) await sleep(retryPause);
        }
        isServed.set(path, statusCode === 200);
      };
      const [first = '', ...others] = exclusivePaths;
      await ask(first);
      // All others at once: when a router knows is measured by one of them, whichever has its answer first.
      await Promise.all(others.map(ask)).finally(() => agent.destroy());
      servedBy.set(version, new Set(exclusivePaths.filter((path) => isServed.get(path))));
    },
    pathOf(version, before) {
      const [now, earlier] = [answers.get(version), answers.get(before)];
      const found = exclusivePaths.find((path) => now?.get(path) === true && earlier?.get(path) === false);
      return found ?? (servedBy.has(version) ? null : undefined);
    },
    readyServer: (since) => [...up].find((server) => server.binary().minor >= since),
    paths() {
      const all = [...servedBy.values()];
      const paths = [...new Set(all.flatMap((served) => [...served]))];
      const differing = paths.filter((path) => all.some((served) => !served.has(path)));
      return differing.length > 0 ? differing : paths;
    },
    isServed: (path) => [...versions.values()].some((version) => servedBy.get(version)?.has(path) === true),
  };
}

const namespace = 'live-upgrade';
/** How long a killed server stays away. Milliseconds. */
const awayAfterKill = 1_000;
/** How long a server hangs before it is killed. Milliseconds. */
const standStillFor = 20_000;
/** Between two objects of a loop. */
const fieldPause = 150;

export interface UpgradeOptions {
  readonly form: Form;
  readonly stop: Stop;
  readonly routerFault: RouterFault;
  readonly etcd: string;
  /** Binary of the three servers at first. */
  readonly start: ApiServerBinary;
  readonly steps: readonly UpgradeStep[];
  /** How long a server that shuts down in order is waited for before it is killed. Milliseconds. */
  readonly grace: number;
  /** Between a server's return and the next one's end, and after the last. Milliseconds. */
  readonly pause: number;
  readonly after: number;
  /** Told of events as they happen. */
  tell(line: string): void;
}

/** The outcome of one way in. */
export interface WayOutcome {
  readonly fields: FieldLoop;
  readonly served: ServedLoop;
  readonly mutated: MutatedLoop;
}

export interface UpgradeOutcome {
  readonly ways: ReadonlyMap<Way['name'], WayOutcome>;
  /** For each step, when each router knew: milliseconds after the server's `/readyz` was 200. */
  readonly known: readonly { readonly step: string; readonly routers: readonly KnownAt[] }[];
}

/** One upgrade of three real servers, with clients at work from before the first one goes until long after the last is back. */
export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeOutcome> {
  const { form, start, steps } = options;
  const versions = [start, ...steps.map(({ binary }) => binary)];
  const controlPlane = await startControlPlane(
    options.etcd,
    [start, start, start],
    form === 'in-tree' ? inTreeFlags : undefined,
    versions,
  );
  try {
    const opened = await openWays(form, controlPlane, steps);
    const run = new UpgradeRun(options, controlPlane, opened, fieldOf(versions));
    await run.begin();
    await sleep(options.pause);
    for (const [index, step] of steps.entries()) {
      await run.upgrade(step, index);
      await sleep(options.pause);
    }
    await sleep(Math.max(options.after - options.pause, 0));
    return await run.end();
  } finally {
    await controlPlane.close();
  }
}

/** Where no field tells the versions apart, one that all have must not be lost either. */
function fieldOf(versions: readonly ApiServerBinary[]): NewField {
  const field = newFieldOf(versions) ?? newFieldOf([{ minor: 34 }, ...versions]);
  if (field === undefined) throw new Error('no field of these versions is known: lab/live/new-field.ts');
  return field;
}

class UpgradeRun {
  readonly #options: UpgradeOptions;
  readonly #controlPlane: ControlPlane;
  readonly #opened: Ways;
  readonly #field: NewField;
  readonly #states: ServerStates;
  readonly #outcomes = new Map<Way['name'], WayOutcome>();
  readonly #known: UpgradeOutcome['known'][number][] = [];
  #followers: readonly Loop[] = [];
  /** Minor version from which on servers enforce the policy; `undefined`: there is none yet. */
  #enforcing: number | undefined;

  constructor(options: UpgradeOptions, controlPlane: ControlPlane, opened: Ways, field: NewField) {
    this.#options = options;
    this.#controlPlane = controlPlane;
    this.#opened = opened;
    this.#field = field;
    this.#states = createServerStates(controlPlane.admin);
  }

  async begin(): Promise<void> {
    const { start } = this.#options;
    const { servers, admin } = this.#controlPlane;
    for (const server of servers) this.#states.ready(server);
    const [first] = servers;
    if (first === undefined) throw new TypeError('there are servers');
    await this.#states.learn(first);
    const named = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
    await postObject(`${first.url}/api/v1/namespaces`, named, admin);
    for (const way of this.#opened.ways) this.#outcomes.set(way.name, this.#startClients(way));
    if (enforcesPolicies(start)) await this.#makePolicy(first, ...servers);
    this.#expect(start.minor, start.minor);
    this.#followers = this.#opened.routers.map((router) =>
      followPreferred(router, admin, (line) => this.#tell(line)),
    );
  }

  #startClients(way: Way): WayOutcome {
    const { name } = way;
    const { admin } = this.#controlPlane;
    const [states, field] = [this.#states, this.#field];
    const onFault = (what: string) => {
      // Without a router faults are the rule.
      if (isRouted(name)) this.#tell(`${name}: ${what}`);
    };
    const truth = () => states.readyServer(field.since)?.url;
    const isThere = () => this.#enforcing !== undefined;
    return {
      fields: startFieldLoop({
        ...way,
        ...{ field, truth, namespace, credentials: admin, prefix: name, pause: fieldPause, onFault },
      }),
      served: startServedLoop(way, states, admin, onFault),
      mutated: startMutatedLoop(way, isThere, namespace, admin, name, onFault),
    };
  }

  /** Sets the right outcomes from now on, by the minor versions that most servers had and will have. */
  #expect(before: number, next: number): void {
    const enforcing = this.#enforcing;
    for (const { fields, mutated } of this.#outcomes.values()) {
      fields.turnBack(next < before);
      const [was, will] = [before >= (enforcing ?? before + 1), next >= (enforcing ?? next + 1)];
      if (was === will) mutated.expect(will ? 'on' : 'off');
      else mutated.expect(will ? 'turning on' : 'turning off');
    }
  }

  async #makePolicy(...[server, ...others]: readonly [KubeApiServer, ...KubeApiServer[]]): Promise<void> {
    const origins = [server.url, ...others.map(({ url }) => url)] as const;
    const isMade = await makeMutatingPolicy(origins, namespace, this.#controlPlane.admin);
    if (isMade) this.#enforcing = server.binary().minor;
  }

  async upgrade({ server: name, binary }: UpgradeStep, index: number): Promise<void> {
    const { balancer, routers } = this.#opened;
    const { servers, admin } = this.#controlPlane;
    const server = servers.find((each) => each.name === name);
    if (server === undefined) throw new TypeError(`there is no server ${name}`);
    const before = server.binary();
    const faults = faultsOfStep(this.#options.routerFault, routers, index, (line) => this.#tell(line));
    const measured = routers.filter((router) => !faults.suffering.has(router));
    const countedAs = await Promise.all(
      measured.map((router) => countedVersionAt(router, server.serverId, admin)),
    );
    const preferred = majorityOf(servers.map((each) => each.binary().minor));
    const next = majorityOf(servers.map((each) => (each === server ? binary : each.binary()).minor));
    this.#expect(preferred, next);
    await faults.beforeEnd();
    await balancer?.begins(index);
    await this.#replace(server, binary, () => faults.afterLaunch());
    const learnt = this.#states.learn(server);
    const pathOf = () => this.#states.pathOf(binary.version, before.version);
    const knowing = measured.map((router, index) =>
      untilKnown(router, { id: server.serverId, before: countedAs[index] }, pathOf, admin),
    );
    // A server that starts may hold a question for seconds, and respond to a later one at once.
    const readyAt = await untilReady(server, () =>
      tlsRequest(`${server.url}/readyz`, admin, { timeout: 500 }),
    );
    this.#states.ready(server);
    faults.afterReady();
    this.#tell(`${name} is ready as ${binary.version}`);
    await balancer?.ended(index);
    await learnt;
    if (this.#enforcing === undefined) {
      await this.#makePolicy(server);
      this.#expect(preferred, next);
    }
    this.#noteKnown(`${name}: ${before.version} to ${binary.version}`, await Promise.all(knowing), readyAt);
    await faults.over();
  }

  async #replace(server: KubeApiServer, binary: ApiServerBinary, launched: () => void): Promise<void> {
    const { stop, grace } = this.#options;
    this.#states.stopped(server);
    this.#tell(`${server.name} ends by ${stop}`);
    if (stop === 'SIGTERM') await server.stop(grace);
    else {
      if (stop === 'SIGSTOP') await server.standStill(standStillFor);
      await server.kill();
      await sleep(awayAfterKill);
    }
    await server.launch(binary);
    launched();
    this.#states.launched(server);
    this.#tell(`${server.name} starts as ${binary.version}`);
  }

  /** @param knownAt by the clock, in milliseconds, as `readyAt` */
  #noteKnown(step: string, knownAt: readonly KnownAt[], readyAt: number): void {
    const routers = knownAt.map(({ version, decision, ...known }) => ({
      ...known,
      version: version - readyAt,
      decision: decision - readyAt,
    }));
    this.#known.push({ step, routers });
    for (const { router, version, countedAs, decision } of routers) {
      this.#tell(
        `${router} knew the version ${countedAs} ${version} ms, where to send requests ${decision} ms after /readyz`,
      );
    }
  }

  async end(): Promise<UpgradeOutcome> {
    const loops = [...this.#outcomes.values()].flatMap(({ fields, served, mutated }) => [
      fields,
      served,
      mutated,
    ]);
    await Promise.all([...loops, ...this.#followers].map((loop) => loop.stop()));
    for (const { name, process } of this.#opened.routers) {
      if (process.isRunning()) continue;
      throw new Error(`${name} has ended: ${this.#controlPlane.path(`${name}.log`)}`);
    }
    return { ways: this.#outcomes, known: this.#known };
  }

  /** With the time, `00:14:03.120`, as in logs. */
  #tell(line: string): void {
    this.#options.tell(`${new Date().toISOString().slice(11, -1)} ${line}`);
  }
}

async function untilReady(
  { name }: KubeApiServer,
  ask: () => Promise<{ readonly statusCode: number }>,
): Promise<number> {
  let readyAt = 0;
  await waitUntil(
    `${name} is ready`,
    async () => {
      const answer = await ask().catch(() => undefined);
      readyAt = Date.now();
      return answer?.statusCode === 200;
    },
    { every: 25 },
  );
  return readyAt;
}
