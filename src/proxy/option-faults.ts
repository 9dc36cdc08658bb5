import type { MixedVersionProxyOptions } from './options.ts';

/**
 * For the doors of the library: a program in JavaScript has no compiler that tells.
 * @throws {TypeError} with everything that is missing, or is of another kind
 */
export function checkOptions(given: Partial<MixedVersionProxyOptions> | undefined): void {
  const { transport, routingTable, local, assertionSigner, logger } = given ?? {};
  const faults: string[] = [];
  const need = (holds: boolean, what: string): unknown => holds || faults.push(what);
  need(
    typeof transport?.send === 'function',
    'transport must be an object with send(): createFetchTransport() makes one',
  );
  need(
    typeof routingTable?.current === 'function',
    'routingTable must be an object with current(): a SnapshotReceiver, or { current: () => buildRoutingTable(snapshot) }',
  );
  need(
    local === undefined || (typeof local === 'object' && typeof local?.origin === 'string' && 'id' in local),
    'local must be { kind, id, origin, serverName, trust }, or be left out where no server is closer than another',
  );
  need(
    assertionSigner === undefined || typeof assertionSigner?.sign === 'function',
    'assertionSigner must be an object with sign(): createAssertionSigner() makes one',
  );
  need(
    logger === undefined || typeof logger?.warn === 'function',
    'logger must have debug(), info(), warn() and error()',
  );
  if (faults.length > 0) throw new TypeError(`mixed-version-proxy: ${faults.join('; ')}`);
}
