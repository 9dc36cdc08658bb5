import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { fromJson } from '../../runtime/validation.ts';
import type { ControlPlane } from './control-plane.ts';
import { InstallationRefused, type SteadyClock } from './kubeadm-node.ts';

/** Name of the Lease that a cluster's one working installer holds, so that no two move a kube-apiserver at a time. */
export const leaseName = 'mixed-version-proxy-install';
const collection = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const path = `${collection}/${leaseName}`;

/** Milliseconds between two renewals. */
const renewInterval = 10_000;
/** Milliseconds between two looks at the Lease of another. */
const lookInterval = 2_000;

const leaseSchema = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  spec: v.object({
    holderIdentity: v.nullish(v.string(), ''),
    leaseDurationSeconds: v.nullish(v.number(), 0),
  }),
});
type Lease = v.InferOutput<typeof leaseSchema>;

export interface LeaseOptions {
  readonly cluster: {
    ask(
      path: string,
      asked?: Parameters<ControlPlane['ask']>[1],
    ): Promise<{ readonly status: number; readonly text: string }>;
  };
  /** Address of this node: a run of it that was cut off cannot renew, and the lock of the node is this run's. */
  readonly node: string;
  /** How long the cluster may be out of reach: kube-apiserver moves meanwhile. */
  readonly durationSeconds: number;
  readonly say: (line: string) => Promise<void>;
  readonly clock: SteadyClock;
}

/**
 * Holds the Lease as client-go's leader election does (tools/leaderelection): each run is a holder of its own, and whether
 * another one still renews is seen by this machine's clock alone, from when its record was first seen.
 */
export class InstallLease {
  readonly #options: LeaseOptions;
  readonly #clock: SteadyClock;
  readonly #holder: string;
  #resourceVersion: string | undefined;
  #renewedAt = 0;
  #isLost = false;
  #timer: NodeJS.Timeout | undefined;
  #renewal: Promise<void> = Promise.resolve();

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#holder = `${options.node}_${randomUUID()}`;
  }

  /** @returns whose it is now; `undefined`: this node may take it */
  async heldBy(): Promise<string | undefined> {
    const lease = await this.#read();
    return lease === undefined || this.#isFree(lease) ? undefined : nodeOf(lease);
  }

  /** @throws {InstallationRefused} while another node renews it, or when the cluster cannot be asked */
  async acquire(): Promise<void> {
    let seen: Lease | undefined;
    const seenAt = this.#clock.now();
    for (;;) {
      const lease = await this.#read();
      const isOver = seen !== undefined && this.#clock.now() - seenAt > seen.spec.leaseDurationSeconds * 1000;
      if (lease === undefined || this.#isFree(lease) || isOver) {
        if (await this.#write(lease?.metadata.resourceVersion)) break;
        // Somebody else was faster: the next look says who.
        seen = undefined;
        continue;
      }
      if (seen !== undefined && lease.metadata.resourceVersion !== seen.metadata.resourceVersion) {
        throw new InstallationRefused(heldText(nodeOf(lease)));
      }
      if (seen === undefined) {
        seen = lease;
        const seconds = lease.spec.leaseDurationSeconds;
        await this.#options.say(
          `node ${nodeOf(lease)} holds Lease kube-system/${leaseName}: waiting until it renews it, or has not for ${seconds} s`,
        );
      }
      await this.#clock.sleep(lookInterval);
    }
    this.#timer = setInterval(() => {
      this.#renewal = this.#renewal.then(() => this.renew()).catch(() => {});
    }, renewInterval).unref();
  }

  /** @throws {InstallationRefused} once another run may hold it */
  requireHeld(): void {
    const age = this.#clock.now() - this.#renewedAt;
    if (this.#isLost || age > this.#options.durationSeconds * 1000) {
      throw new InstallationRefused(`Lease kube-system/${leaseName} was lost: another node may be at work`);
    }
  }

  async renew(): Promise<void> {
    if (this.#resourceVersion === undefined || (await this.#write(this.#resourceVersion))) return;
    const lease = await this.#read();
    if (lease?.spec.holderIdentity === this.#holder) this.#resourceVersion = lease.metadata.resourceVersion;
    else this.#isLost = true;
  }

  /** Deletes it, unless another run holds it. What cannot be deleted runs out. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewal;
    if (this.#resourceVersion === undefined) return;
    const lease = await this.#read().catch(() => undefined);
    if (lease?.spec.holderIdentity !== this.#holder) return;
    const { resourceVersion } = lease.metadata;
    const object = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { resourceVersion } };
    await this.#options.cluster.ask(path, { method: 'DELETE', object }).catch(() => {});
  }

  /** Nobody's, or of a run of this node that has ended. */
  #isFree(lease: Lease): boolean {
    return lease.spec.holderIdentity === '' || nodeOf(lease) === this.#options.node;
  }

  async #read(): Promise<Lease | undefined> {
    const { status, text } = await this.#options.cluster.ask(path);
    if (status === 404) return undefined;
    const result = v.safeParse(fromJson(leaseSchema), text);
    if (status === 200 && result.success) return result.output;
    throw new InstallationRefused(
      `Lease kube-system/${leaseName} cannot be read: the API server returned ${status}, and no Lease`,
    );
  }

  /** @param resourceVersion of the one that it replaces @returns whether it is held now */
  async #write(resourceVersion: string | undefined): Promise<boolean> {
    const { durationSeconds, cluster } = this.#options;
    const object = leaseObject(this.#holder, durationSeconds, new Date(), resourceVersion);
    const begunAt = this.#clock.now();
    const { status, text } = await (resourceVersion === undefined
      ? cluster.ask(collection, { method: 'POST', object })
      : cluster.ask(path, { method: 'PUT', object }));
    if (status === 409 || status === 404) return false;
    const result = v.safeParse(fromJson(leaseSchema), text);
    if (!result.success) {
      throw new InstallationRefused(
        `Lease kube-system/${leaseName} cannot be written: the API server returned ${status}`,
      );
    }
    this.#resourceVersion = result.output.metadata.resourceVersion;
    this.#renewedAt = begunAt;
    return true;
  }
}

export function leaseObject(holder: string, durationSeconds: number, now: Date, resourceVersion?: string) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: leaseName,
      namespace: 'kube-system',
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: durationSeconds,
      // MicroTime (k8s.io/apimachinery/pkg/apis/meta/v1/micro_time.go), for who reads it: no clock is compared with it.
      renewTime: now.toISOString().replace('Z', '000Z'),
    },
  };
}

function nodeOf({ spec }: Lease): string {
  return spec.holderIdentity.replace(/_.*/, '');
}

export function heldText(node: string): string {
  return `node ${node} holds Lease kube-system/${leaseName}: install or undo one node at a time`;
}
