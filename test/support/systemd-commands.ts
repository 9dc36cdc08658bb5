/**
 * What a machine with systemd has on its PATH, for one service in a folder: `systemd-commands.ts <folder> <command> …`.
 * The service is really started, by the ExecStart, Environment and StateDirectory of its unit as it was at the last
 * daemon-reload, and really stopped. Folder: `root` is the machine's files, `state` what systemd and the accounts keep.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseUnitFile } from '../deploy/support/unit-file.ts';

const [folder = '', command = '', ...args] = process.argv.slice(2);
const unit = 'mixed-version-proxy.service';
const root = join(folder, 'root');
const units = join(root, 'etc/systemd/system');
const wants = join(units, 'multi-user.target.wants');
const state = (name: string) => join(folder, 'state', name);
const text = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');

function end(code: number, output = ''): never {
  if (output !== '') process.stdout.write(`${output}\n`);
  process.exit(code);
}

/** The leader of the service's process group; 0: none. */
const group = () => Number(text(state('pid')));

function isRunning(): boolean {
  try {
    return group() > 0 && process.kill(-group(), 0);
  } catch {
    return false;
  }
}

const service = () => parseUnitFile(text(state('loaded'))).get('Service');
const stateDirectory = () => join(root, 'var/lib', service()?.get('StateDirectory')?.at(-1) ?? unit);

function start(): void {
  const words = service()?.get('ExecStart')?.at(-1)?.split(' ');
  if (words === undefined) end(5, `Failed to start ${unit}: Unit ${unit} not found.`);
  mkdirSync(stateDirectory(), { recursive: true, mode: 0o700 });
  rmSync(state('exit'), { force: true });
  const environment = (service()?.get('Environment') ?? []).map((each) => each.split('='));
  const log = openSync(state('journal'), 'a');
  const record = `"$@"; code=$?; echo $code > ${state('exit')}.new; mv ${state('exit')}.new ${state('exit')}`;
  const child = spawn('/bin/sh', ['-c', record, 'sh', ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { PATH: process.env['PATH'], ...Object.fromEntries(environment) },
  });
  closeSync(log);
  writeFileSync(state('pid'), String(child.pid));
  child.unref();
}

async function stop(): Promise<void> {
  if (isRunning()) process.kill(-group(), 'SIGTERM');
  while (isRunning()) await sleep(20);
  rmSync(state('exit'), { force: true });
}

async function systemctl([verb = '', ...rest]: readonly string[]): Promise<void> {
  writeFileSync(state('calls'), `${[verb, ...rest].join(' ')}\n`, { flag: 'a' });
  if (text(state('failing')) === verb) end(1, `Failed to ${verb}: Access denied`);
  const isNow = rest.includes('--now');
  if (verb === 'show') end(0, text(state('loaded')) === '' ? text(state('foreign')) : join(units, unit));
  else if (verb === 'is-active') {
    if (isRunning()) end(0, 'active');
    end(3, ['', '0'].includes(text(state('exit')).trim()) ? 'inactive' : 'failed');
  } else if (verb === 'daemon-reload') writeFileSync(state('loaded'), text(join(units, unit)));
  else if (verb === 'enable') {
    mkdirSync(wants, { recursive: true });
    rmSync(join(wants, unit), { force: true });
    symlinkSync(join(units, unit), join(wants, unit));
    if (isNow && !isRunning()) start();
  } else if (verb === 'disable') {
    if (existsSync(wants)) {
      rmSync(join(wants, unit), { force: true });
      if (readdirSync(wants).length === 0) rmdirSync(wants);
    }
    if (isNow) await stop();
  } else if (verb === 'stop') await stop();
  else if (verb === 'restart') {
    await stop();
    start();
  } else if (verb === 'clean') rmSync(stateDirectory(), { recursive: true, force: true });
  else if (verb === 'reset-failed') rmSync(state('exit'), { force: true });
  else if (verb !== '--version') end(1, `Unknown command verb ${verb}.`);
}

if (command === 'systemctl') await systemctl(args);
else if (command === 'journalctl') end(0, text(state('journal')).trimEnd().split('\n').slice(-10).join('\n'));
else if (command === 'useradd') writeFileSync(state('account'), args.join(' '));
else if (command === 'userdel') rmSync(state('account'));
else if (command === 'getent') {
  if (!existsSync(state('account'))) end(2);
  end(0, `mixed-version-proxy:x:${process.getgid?.()}:`);
}
