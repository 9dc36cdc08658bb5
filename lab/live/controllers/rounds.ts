import { setTimeout as sleep } from 'node:timers/promises';
import 'reflect-metadata';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { keyAlgorithm } from '../../../demo/signed-certificate.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { storedKeys } from '../cluster/etcd-keys.ts';
import type { KubeApiServer } from '../cluster/kube-apiserver.ts';
import type { WayIn } from '../e2e/way-in.ts';
import {
  actOnRound,
  type Expectation,
  faultsOf,
  goThrough,
  keptNamespace,
  prepareRound,
  type RoundClients,
  signingRequests,
} from './round.ts';
import { defineGadgets, type StorageMigrations } from './storage-migration.ts';

const quotaName = 'count/resourceclaims.resource.k8s.io';
const quotas = `/api/v1/namespaces/${keptNamespace}/resourcequotas`;

interface RoundsOptions {
  /** Of what is drawn. */
  readonly seed: number;
  readonly rounds: number;
  /** Milliseconds that a round is waited for before the next one begins. */
  readonly patience: number;
}

/** Rounds of work for a controller manager, in each of which a server goes and comes back. */
export class Rounds {
  readonly #way: WayIn;
  readonly #controlPlane: ControlPlane;
  readonly #clients: RoundClients;
  readonly #options: RoundsOptions;
  readonly #random: () => number;
  readonly #expectations: Expectation[] = [];
  #certificateRequest = '';
  #migrations: StorageMigrations | undefined;
  #late = 0;

  constructor(way: WayIn, controlPlane: ControlPlane, clients: RoundClients, options: RoundsOptions) {
    this.#way = way;
    this.#controlPlane = controlPlane;
    this.#clients = clients;
    this.#options = options;
    this.#random = seededRandom(options.seed);
  }

  async begin(withMigration: boolean): Promise<void> {
    const { tried, newest } = this.#clients;
    const { servers, etcdUrl } = this.#controlPlane;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: keptNamespace } };
    await newest.create('/api/v1/namespaces', namespace);
    await newest.create(quotas, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'claims' },
      spec: { hard: { [quotaName]: '1000' } },
    });
    if (withMigration) this.#migrations = await defineGadgets(tried, newest, etcdUrl);
    this.#certificateRequest = await certificateRequest();
    const { rounds, seed } = this.#options;
    const versions = servers.map((each) => each.binary().version);
    console.log(`${this.#way}: ${rounds} rounds, seed ${seed}, servers ${versions}`);
  }

  async play(round: number, server: KubeApiServer): Promise<void> {
    const { servers, etcdUrl } = this.#controlPlane;
    const signal = Math.floor((round - 1) / servers.length) % 2 === 0 ? 'SIGTERM' : 'SIGKILL';
    const outage = { server, signal, away: Math.round(this.#random() * 4_000) } as const;
    const begin = Math.round(this.#random() * 1_500);
    const expectation = await prepareRound(round, this.#certificateRequest, this.#clients);
    this.#expectations.push(expectation);
    await this.#migrations?.advance();
    await Promise.all([actOnRound(round, this.#clients), sleep(begin).then(() => goThrough(outage))]);
    const wasRight = await waitUntil(`round ${round}`, () => this.#isRight([expectation]), {
      within: this.#options.patience,
      every: 500,
    }).then(
      () => true,
      () => false,
    );
    if (!wasRight) this.#late++;
    const { orphans, wronglyDeleted } = faultsOf([expectation], await storedKeys(etcdUrl));
    console.log(
      `${this.#way}, round ${round}: ${server.name} (${server.binary().version}) by ${signal} after ${begin} ms, away ${outage.away} ms: ${wasRight ? 'right' : `late; ${orphans.length} not gone, ${wronglyDeleted.length} wrongly deleted`}`,
    );
  }

  /** @param patience milliseconds until what is not right counts as wrong */
  async end(patience: number) {
    await waitUntil('everything is right in the end', () => this.#isAllRight(), {
      within: patience,
      every: 2_000,
    }).catch(() => {});
    const migrations = this.#migrations;
    const { seed, rounds } = this.#options;
    return {
      way: this.#way,
      seed,
      rounds,
      late: this.#late,
      ...faultsOf(this.#expectations, await storedKeys(this.#controlPlane.etcdUrl)),
      unsigned: await this.#unsigned(this.#expectations),
      ...(migrations && { migrations: migrations.asked(), unmigrated: await migrations.unfinished() }),
      quota: await this.#quota(),
    };
  }

  async #isAllRight(): Promise<boolean> {
    const { used, expected } = await this.#quota();
    const isMigrated = ((await this.#migrations?.unfinished()) ?? []).length === 0;
    return isMigrated && (await this.#isRight(this.#expectations)) && used === expected;
  }

  async #isRight(of: readonly Expectation[]): Promise<boolean> {
    const { orphans, wronglyDeleted } = faultsOf(of, await storedKeys(this.#controlPlane.etcdUrl));
    return orphans.length + wronglyDeleted.length + (await this.#unsigned(of)).length === 0;
  }

  async #unsigned(of: readonly Expectation[]): Promise<readonly string[]> {
    const signedOf = await Promise.all(
      of.map(async ({ signed }) => {
        const found = await this.#clients.newest.get(`${signingRequests}/${signed}`);
        return found?.status?.['certificate'] === undefined ? signed : '';
      }),
    );
    return signedOf.filter((name) => name !== '');
  }

  async #quota(): Promise<{ readonly used: number; readonly expected: number }> {
    const stored = await storedKeys(this.#controlPlane.etcdUrl);
    const prefix = `/registry/resourceclaims/${keptNamespace}/`;
    const quota = await this.#clients.newest.get(`${quotas}/claims`);
    const counts = quota?.status?.['used'] as Record<string, string> | undefined;
    return {
      used: Number(counts?.[quotaName] ?? -1),
      expected: [...stored].filter((key) => key.startsWith(prefix)).length,
    };
  }
}

async function certificateRequest(): Promise<string> {
  const keys = await crypto.subtle.generateKey(keyAlgorithm, false, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: 'CN=live-client',
    keys,
    signingAlgorithm: keyAlgorithm,
  });
  return Buffer.from(request.toString('pem')).toString('base64');
}
