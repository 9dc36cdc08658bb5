import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { joinHostPort } from '../../snapshot/addresses/host-port.ts';
import { askOwnPort } from '../terminal/ask-own-port.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import type { Finding } from './finding.ts';

/**
 * Whether the router can listen. `doctor` also runs beside the router, which is then what listens there: known by its
 * certificate, and by a check that no API server has, for on a node of kubeadm both present the same certificate.
 */
export async function portFinding(
  config: ServeConfig,
  { portInUse }: Pick<CommandContext, 'portInUse'>,
): Promise<Finding> {
  const check = 'port';
  const address = joinHostPort(config.bindAddress, config.securePort);
  const busy = await portInUse(config);
  if (busy === undefined) return { check, result: 'ok', message: `${address} is free` };
  const isRouter = await askOwnPort(config, '/readyz?verbose').then(
    ({ text }) => /^\[[+-]\](?:snapshot|server-id)\b/m.test(text),
    () => false,
  );
  return isRouter
    ? { check, result: 'ok', message: `a router with this certificate listens on ${address}` }
    : { check, result: 'failed', message: busy.message };
}
