import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { askOwnPort, ownPortUrl } from '../terminal/ask-own-port.ts';
import { accountName, unitName } from './systemd-files.ts';
import type { SystemdHost } from './systemd-host.ts';
import { InstallationRefused } from './wait-until.ts';

/** Runs a command that has to succeed. @throws {InstallationRefused} with what it wrote */
export async function must(host: SystemdHost, command: string, ...args: readonly string[]): Promise<void> {
  const { code, output } = await host.run(command, ...args);
  if (code === 0) return;
  throw new InstallationRefused(`${[command, ...args].join(' ')} failed: ${output}`);
}

/** What no installation can begin on. @throws {InstallationRefused} */
export async function refuseUnlessSystemd(host: SystemdHost): Promise<void> {
  if (!host.isRoot) throw new InstallationRefused('this writes units and starts services: run it as root');
  if ((await host.run('systemctl', '--version')).code === 127) {
    throw new InstallationRefused(
      'systemctl is not on the PATH: this machine has no systemd. Start serve by what starts services here',
    );
  }
  if (!(await host.isBooted())) {
    throw new InstallationRefused(
      'systemd is not running: this machine, or container, was not started by it (/run/systemd/system is not there). Run it where systemd is the first process',
    );
  }
}

/** The file that systemd loaded the unit from; `undefined` when it has no such unit. */
export async function unitFile(host: SystemdHost): Promise<string | undefined> {
  const { code, output } = await host.run(
    'systemctl',
    'show',
    '--property=FragmentPath',
    '--value',
    unitName,
  );
  return code === 0 && output !== '' ? output : undefined;
}

/** `active`, `failed` and the like. */
export async function serviceState(host: SystemdHost): Promise<string> {
  return (await host.run('systemctl', 'is-active', unitName)).output;
}

/** ID of the group of the router's account; `undefined`: there is none. */
export async function accountGroup(host: SystemdHost): Promise<number | undefined> {
  const { code, output } = await host.run('getent', 'group', accountName);
  const id = Number(output.split(':')[2]);
  return code === 0 && Number.isSafeInteger(id) ? id : undefined;
}

/** As an argument list of the command `useradd`. */
export const makeAccount = [
  '--system',
  '--user-group',
  '--no-create-home',
  '--home-dir=/var/lib/mixed-version-proxy',
  '--shell=/usr/sbin/nologin',
  accountName,
] as const;

/** The service's last words. */
export async function lastLines(host: SystemdHost): Promise<string> {
  const { code, output } = await host.run(
    'journalctl',
    `--unit=${unitName}`,
    '--lines=10',
    '--output=cat',
    '--no-pager',
  );
  return code === 0 && output !== '' ? output : `(journalctl shows none: ${output})`;
}

/** Why the router is not ready; `undefined` when it is. @throws {InstallationRefused} when it has ended for good */
export async function routerNotReady(config: ServeConfig, host: SystemdHost): Promise<string | undefined> {
  const state = await serviceState(host);
  if (state === 'failed') throw new InstallationRefused(`${unitName} has failed`);
  const path = '/readyz';
  const url = ownPortUrl(config, path);
  try {
    const { status, text } = await askOwnPort(config, path);
    if (status !== 200) return `${url} returned ${status}: ${text.trim()}`;
    // Something else may answer with the same certificate while the service starts anew.
    return state === 'active' ? undefined : `${unitName} is ${state}`;
  } catch (error) {
    return `${url} did not respond: ${errorMessage(error)}; ${unitName} is ${state}`;
  }
}
