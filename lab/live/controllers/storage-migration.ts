import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiServerBinary } from '../cluster/assets.ts';
import { storedObjects } from '../cluster/etcd-keys.ts';
import type { ObjectClient } from './object-client.ts';

/** StorageVersionMigration is v1beta1 from here on (KEP-4192), off by default. */
const firstMinor = 35;
const gate = '--feature-gates=StorageVersionMigrator=true';

const group = 'live.mixed-version-proxy.example';
const versions = ['v1', 'v2'] as const;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const migrations = '/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations';

/** Milliseconds that servers may take to store by a changed definition: what is migrated earlier is not rewritten. */
const definitionDelay = 2_000;

export function servesMigrations({ minor }: Pick<ApiServerBinary, 'minor'>): boolean {
  return minor >= firstMinor;
}

export function migrationFlags(binary: Pick<ApiServerBinary, 'minor'>): readonly string[] {
  return servesMigrations(binary) ? [gate, '--runtime-config=storagemigration.k8s.io/v1beta1=true'] : [];
}

export const migratorFlags: readonly string[] = [gate];

/** Migrations of custom resources, one after the other, each to another storage version. */
export interface StorageMigrations {
  /** Begins the next migration once the last has succeeded. */
  advance(): Promise<void>;
  asked(): number;
  /** Resources stored at another version than the last migration's, and that migration if it has not succeeded. */
  unfinished(): Promise<readonly string[]>;
}

/**
 * @param tried the way into the cluster that is tried
 * @param newest straight to the only server that serves StorageVersionMigrations
 * @param etcdUrl where the truth is read: custom resources are stored as JSON
 */
export async function defineGadgets(
  tried: ObjectClient,
  newest: ObjectClient,
  etcdUrl: string,
): Promise<StorageMigrations> {
  let asked = 0;
  await newest.create(definitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
      versions: definedVersions(asked),
    },
  });
  const unfinished = async () => {
    if (asked === 0) return [];
    const expected = `${group}/${storageVersion(asked)}`;
    const gadgets = await storedObjects(etcdUrl, `/registry/${group}/gadgets/`);
    const migration = await newest.get(`${migrations}/to-${asked}`);
    const conditions = (migration?.status?.['conditions'] ?? []) as { type: string; status: string }[];
    return [
      ...gadgets
        .filter(({ apiVersion }) => apiVersion !== expected)
        .map(({ apiVersion, metadata: { name } }) => `${name} is stored at ${apiVersion}`),
      ...(conditions.some(({ type, status }) => type === 'Succeeded' && status === 'True')
        ? []
        : [`migration to-${asked}: ${JSON.stringify(conditions)}`]),
    ];
  };
  return {
    async advance() {
      if ((await unfinished()).length > 0) return;
      await tried.create(`/apis/${group}/v1/gadgets`, {
        apiVersion: `${group}/v1`,
        kind: 'Gadget',
        metadata: { name: `gadget-${asked}` },
      });
      asked += 1;
      await tried.merge(`${definitions}/gadgets.${group}`, { spec: { versions: definedVersions(asked) } });
      await sleep(definitionDelay);
      await tried.create(migrations, {
        apiVersion: 'storagemigration.k8s.io/v1beta1',
        kind: 'StorageVersionMigration',
        metadata: { name: `to-${asked}` },
        spec: { resource: { group, resource: 'gadgets' } },
      });
    },
    asked: () => asked,
    unfinished,
  };
}

function storageVersion(asked: number): string {
  return versions[asked % versions.length] ?? versions[0];
}

function definedVersions(asked: number): object[] {
  return versions.map((name) => ({
    name,
    served: true,
    storage: name === storageVersion(asked),
    schema: { openAPIV3Schema: { type: 'object' } },
  }));
}
