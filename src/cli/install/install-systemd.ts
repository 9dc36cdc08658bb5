import { dirname } from 'node:path';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { checkedConfiguration } from './checked-configuration.ts';
import { diffText, type FileChange } from './file-change.ts';
import { type Journal, planUndo, presentFiles, readJournal, writeJournal } from './journal.ts';
import { recordedChanges, refuseAndPutBack, type Say, takeBackChange, tidyUp } from './recorded-changes.ts';
import {
  accountName,
  planSystemd,
  type SystemdWish,
  unitName,
  unitOfAnotherOrigin,
} from './systemd-files.ts';
import type { SystemdHost } from './systemd-host.ts';
import {
  accountGroup,
  lastLines,
  makeAccount,
  must,
  refuseUnlessSystemd,
  routerNotReady,
  serviceState,
  unitFile,
} from './systemd-service.ts';
import { InstallationRefused, waitUntil } from './wait-until.ts';

/** What an installation as a systemd service works on. */
export interface SystemdSite {
  readonly host: SystemdHost;
  readonly context: CommandContext;
  readonly say: Say;
  /** Milliseconds until the router has to be ready. */
  readonly timeout: number;
}

interface Preparation {
  readonly journal: Journal | undefined;
  readonly changes: readonly FileChange[];
  readonly config: ServeConfig;
  readonly wasActive: boolean;
  readonly hasAccount: boolean;
}

const reload = ['systemctl', 'daemon-reload'] as const;
const restart = ['systemctl', 'restart', unitName] as const;

/** What `install` would change, as a diff, and the commands it would run; empty when all is there. */
export async function dryRunOfSystemd(wish: SystemdWish, site: SystemdSite): Promise<string> {
  const preparation = await prepare(wish, site);
  const { changes, hasAccount, wasActive } = preparation;
  if (changes.length === 0 && hasAccount && wasActive) return '';
  const account = hasAccount ? [] : [['useradd', ...makeAccount]];
  return diffText(changes) + commandText([...account, ...startCommands(preparation)]);
}

/** The same of `install --undo`; empty when nothing is installed. */
export async function dryRunOfSystemdUndo({ host }: SystemdSite): Promise<string> {
  const journal = await readJournal(host.paths.journal, host);
  if (journal === undefined) return '';
  const account = journal.account === true ? [['userdel', accountName]] : [];
  return (
    commandText(stopCommands) + diffText(await undoOf(journal, host)) + commandText([reload, ...account])
  );
}

/**
 * Writes the unit and what it needs, starts it, and waits until the router is ready. All is put back when it is not.
 * @throws {InstallationRefused} when nothing has been changed, or everything has been put back
 */
export async function installSystemd(wish: SystemdWish, site: SystemdSite): Promise<void> {
  const { host, say, timeout } = site;
  await refuseUnlessSystemd(host);
  const preparation = await prepare(wish, site);
  const { changes, config, wasActive, hasAccount } = preparation;
  const ready = () => waitUntil(timeout, () => routerNotReady(config, host));
  if (changes.length === 0 && hasAccount && wasActive) {
    await ready();
    await say(`nothing to do: the router is installed, and ready on ${config.securePort}`);
    return;
  }
  const { journal } = preparation;
  const start: Journal = {
    version: 1,
    port: config.securePort,
    ...(journal?.account === true || !hasAccount ? { account: true } : {}),
    files: journal?.files ?? [],
  };
  const recorded = recordedChanges(host.paths.journal, start, host, say);
  try {
    if (!hasAccount) {
      await writeJournal(host.paths.journal, start, host);
      await must(host, 'useradd', ...makeAccount);
    }
    const group = await accountGroup(host);
    for (const change of changes) {
      await recorded.make(change, change.isSecret === true ? group : undefined);
    }
    for (const [command, ...args] of startCommands(preparation)) await must(host, command, ...args);
    await say(`waiting for the router on ${config.securePort}`);
    await ready();
  } catch (cause) {
    const lines = await lastLines(host);
    await refuseAndPutBack(
      cause,
      () => putBack(preparation, recorded.journal(), site),
      'install systemd --undo',
      say,
      `the last lines of its journal:\n${lines}\n`,
    );
  }
  await say(`installed: the router is ready on ${config.securePort}, as ${unitName}`);
}

/** Takes an installation back. @throws {InstallationRefused} */
export async function undoSystemd(site: SystemdSite): Promise<void> {
  const { host, say } = site;
  const journal = await readJournal(host.paths.journal, host);
  if (journal === undefined) {
    await say(`nothing to do: ${host.paths.journal} is not there, so nothing is installed`);
    return;
  }
  await refuseUnlessSystemd(host);
  await takeBack(journal, site);
  await say(`removed: ${unitName} is stopped, and every file is as it was`);
}

/** Looks at everything that may stand in the way, and changes nothing. @throws {InstallationRefused} */
async function prepare(wish: SystemdWish, site: SystemdSite): Promise<Preparation> {
  const { host, context } = site;
  const { paths } = host;
  const journal = await readJournal(paths.journal, host);
  const files = await presentFiles(Object.values(paths), journal, host);
  const isInstalled = journal?.files.some(({ path }) => path === paths.unit) === true;
  const changes = planSystemd(wish, paths, files, isInstalled);
  const known = await unitFile(host);
  if (known !== undefined && known !== paths.unit) throw unitOfAnotherOrigin(known);
  if (!(await host.isExecutable(wish.command))) {
    throw new InstallationRefused(
      `${wish.command} is no command that can be run: name the one that the unit starts with --command`,
    );
  }
  const planned = new Map(changes.map(({ path, after }) => [path, after]));
  const readFile = (path: string) => planned.get(path) ?? context.readFile(path);
  const config = await checkedConfiguration({ configuration: paths.configuration, readFile }, context);
  const wasActive = (await serviceState(host)) === 'active';
  const listensThere = wasActive && journal?.port === config.securePort;
  const busy = listensThere ? undefined : await context.portInUse(config);
  if (busy !== undefined) {
    throw new InstallationRefused(`${busy.message}${busy.isInUse ? '; free it, or take another port' : ''}`);
  }
  const hasAccount = (await accountGroup(host)) !== undefined;
  return { journal, changes, config, wasActive, hasAccount };
}

function startCommands({ wasActive }: Preparation): readonly (readonly [string, ...string[]])[] {
  return wasActive
    ? [reload, ['systemctl', 'enable', unitName], restart]
    : [reload, ['systemctl', 'enable', '--now', unitName]];
}

const stopCommands = [
  ['systemctl', 'disable', '--now', unitName],
  ['systemctl', 'clean', '--what=state', unitName],
] as const;

/** Restores the state before this run: an earlier installation goes on serving. */
async function putBack(
  { journal, changes, wasActive }: Preparation,
  recorded: Journal,
  site: SystemdSite,
): Promise<void> {
  const { host, say } = site;
  if (journal === undefined) return takeBack(recorded, site);
  for (const change of changes.toReversed()) {
    await takeBackChange({ ...change, before: change.after, after: change.before }, host, say);
  }
  await writeJournal(host.paths.journal, journal, host);
  await must(host, ...reload);
  if (wasActive) await must(host, ...restart);
  else await host.run('systemctl', 'stop', unitName);
}

async function takeBack(journal: Journal, { host, say }: SystemdSite): Promise<void> {
  const { paths } = host;
  const changes = await undoOf(journal, host);
  if (changes.some(({ path }) => path === paths.unit)) {
    const [[stop, ...stopArgs], [clean, ...cleanArgs]] = stopCommands;
    await must(host, stop, ...stopArgs);
    // A snapshot that is left behind does no harm, and systemd before version 243 cannot.
    await host.run(clean, ...cleanArgs);
  }
  for (const change of changes) await takeBackChange(change, host, say);
  await must(host, ...reload);
  // One that failed is remembered, even without its unit.
  await host.run('systemctl', 'reset-failed', unitName);
  if (journal.account === true && (await accountGroup(host)) !== undefined) {
    await must(host, 'userdel', accountName);
  }
  await tidyUp(paths.journal, journal, host);
  await host.write({ path: paths.journal, after: undefined, mode: 0o600 });
  for (const path of [paths.configuration, paths.journal]) await host.removeEmptyFolder(dirname(path));
}

async function undoOf(journal: Journal, host: SystemdHost): Promise<readonly FileChange[]> {
  return planUndo(journal, await presentFiles([], journal, host));
}

function commandText(commands: readonly (readonly string[])[]): string {
  return commands.map((words) => `would run: ${words.join(' ')}\n`).join('');
}
