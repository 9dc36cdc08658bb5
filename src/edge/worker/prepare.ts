import type { AssertionSigner } from '../../identity/assertion/assertion-signer.ts';
import { hexOf } from '../../runtime/bytes.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { CallerMethods, WorkerConfiguration } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { CallerIdentification } from '../identity/callers.ts';
import type { WaitUntil } from '../platform/bindings.ts';
import type { SharingReceiver } from '../snapshot/sharing-receiver.ts';
import { createSnapshotKeeping } from '../snapshot/snapshot-keeping.ts';

/** What requests need, made once for an isolate. */
export interface PreparedWorker extends CallerIdentification {
  readonly configuration: Pick<WorkerConfiguration, 'local' | 'frontProxy' | 'destinations' | 'snapshot'>;
  readonly receiver: SharingReceiver;
  readonly assertionSigner: AssertionSigner | undefined;
  /** This Worker's name in `Via`, the same in all its isolates. */
  readonly pseudonym: string;
  /** To be called for each request; see `SnapshotRefresh`. */
  beforeRequest(waitUntil: WaitUntil): Promise<void> | undefined;
}

/**
 * Checks the environment and makes of it what requests need.
 * @throws {WorkerConfigurationError} with every error
 */
export async function prepareWorker(environment: object, logger: Logger): Promise<PreparedWorker> {
  const configuration = await readConfiguration(environment);
  const { callers, assertions, snapshot } = configuration;
  const { receiver, refresh } = await createSnapshotKeeping(snapshot, logger);
  return {
    configuration,
    receiver,
    ...(await identificationOf(callers, logger)),
    assertionSigner: await signerOf(assertions),
    pseudonym: await pseudonymOf(configuration),
    beforeRequest: (waitUntil) => refresh.beforeRequest(waitUntil),
  };
}

async function identificationOf(callers: CallerMethods, logger: Logger): Promise<CallerIdentification> {
  if (!callers.clientCertificates && callers.tokenIssuer === undefined)
    return { authenticators: [], certificateOf: () => ({}) };
  const { createCallerIdentification } = await import('../identity/callers.ts');
  return createCallerIdentification(callers, logger);
}

async function signerOf(assertions: WorkerConfiguration['assertions']): Promise<AssertionSigner | undefined> {
  if (assertions === undefined) return undefined;
  const { createAssertionSigner } = await import('../../identity/assertion/sign-assertion.ts');
  return createAssertionSigner(assertions);
}

/**
 * By which a request that comes back is noticed. A random name, as elsewhere, would be another one in each isolate, and
 * a loop would be noticed only by chance.
 */
async function pseudonymOf({ local, assertions }: WorkerConfiguration): Promise<string> {
  const named = JSON.stringify([local?.id, local?.origin, assertions?.issuer]);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(named));
  return `mixed-version-proxy-${hexOf(new Uint8Array(digest, 0, 8))}`;
}
