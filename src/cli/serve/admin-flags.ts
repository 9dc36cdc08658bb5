import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { isLoopback } from '../../node/serving/default-interface.ts';
import { parseHostPort } from '../../snapshot/addresses/host-port.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';

/** Reads the address of the router's own endpoints; `undefined` without one and after a fault. */
export function readAdminFlags(values: FlagValues, report: FlagReport): ServeConfig['admin'] {
  const name = 'admin-bind-address';
  const text = values.text(name);
  if (text === undefined) return undefined;
  // Port 0, any free one, is no address that could be dialled, and so none to the parser.
  const anyPort = /^(.+:)0$/.exec(text);
  const parsed = parseHostPort(anyPort === null ? text : `${anyPort[1]}1`);
  if (!parsed.ok || parsed.value.ip === undefined) {
    return report.fault(
      name,
      `--${name} must be an IP address and a port, such as 127.0.0.1:9443 or [::1]:9443, not "${text}"`,
    );
  }
  const { host } = parsed.value;
  if (!isLoopback(host)) {
    report.warn(
      name,
      `--${name}: ${host} is no loopback address: all who reach it read metrics and flags, so keep it behind a network policy`,
    );
  }
  return { host, port: anyPort === null ? parsed.value.port : 0 };
}
