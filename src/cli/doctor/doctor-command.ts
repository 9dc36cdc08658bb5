import { stat } from 'node:fs/promises';
import type * as v from 'valibot';
import { count } from '../../dashboard/wording/display-names.ts';
import { routerSettings } from '../../node/configuration/router-settings.ts';
import { settingsOf } from '../../node/configuration/setting.ts';
import { file, section, setting, text } from '../../node/configuration/setting-types.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { parseSnapshotText } from '../../snapshot/format/parse-snapshot.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { snapshotFromFolder } from '../../sync/node/recording.ts';
import { syncOnce } from '../../sync/node/run-sync.ts';
import { readFlags } from '../settings/read-settings.ts';
import { readSnapshotInput } from '../snapshot/snapshot-input.ts';
import type { Command, GivenArguments } from '../terminal/command.ts';
import { type CommandContext, CommandFailure, readInputFile } from '../terminal/command-context.ts';
import { jsonText, outputSetting } from '../terminal/structured-text.ts';
import { type Line, renderLines, type Style } from '../terminal/styled-text.ts';
import { examineRouter } from './examine-router.ts';
import { exitCodeOf, type Finding, warning } from './finding.ts';
import { upgradeFindings } from './upgrade-findings.ts';

const examinedConfig = section('Flags:', {
  config: setting('config', file, {
    description:
      'The RouterConfiguration of the router. Other flags of serve win over it, or take its place.',
  }),
});

const flags = section('Flags:', {
  upgradeTo: setting('upgrade-to', text('version|path'), {
    description:
      'What the cluster is upgraded to: a version such as 1.36, with what Kubernetes serves by default; the kubeconfig of a cluster; a snapshot; or a folder made by sync --record.',
  }),
  upgradeFrom: setting('upgrade-from', text('version|path'), {
    description: "The same of what runs today. Default: the router's stored snapshot.",
  }),
  output: outputSetting,
});

export const doctorCommand: Command = {
  description:
    'Check what a router needs, on its machine: configuration, certificates and keys, the stored snapshot or the cluster, and every API server it may send to (address, certificate, readiness, clock, whether it believes this router about who calls). Takes the flags of serve, except --dry-run. With --upgrade-to it says what an upgrade changes. Exit code 0: all is well, 1: a warning, 2: something does not work.',
  examples: [
    { comment: 'With the configuration file of the router.', line: 'doctor --config router.yaml' },
    {
      comment: 'Before an upgrade of the cluster that a kubeconfig names. No router is needed.',
      line: 'doctor --upgrade-from admin.conf --upgrade-to 1.36',
    },
    {
      comment: 'The same with recordings (sync --record) of this cluster and of one of the next version.',
      line: ['doctor --upgrade-from recording-1.33', '--upgrade-to recording-1.34'],
    },
  ],
  flags: [examinedConfig, flags],
  otherFlags: [routerSettings],
  async run(given, context) {
    // Unknown flags are reported with all that is wrong with the router.
    const options = readFlags(flags, { ...given, issues: [] });
    const findings = await examine(given, options, context);
    await context.writeOutput(
      options.output === 'text'
        ? renderLines([...findings.flatMap(findingLines), countsLine(findings)], context.outputTakesColor)
        : jsonText(findings),
    );
    return exitCodeOf(findings);
  },
};

/** @throws {CommandFailure} exit code 2 when the configuration cannot be used: there is nothing to look at then. */
async function examine(
  given: GivenArguments,
  { upgradeFrom, upgradeTo }: v.InferOutput<typeof flags>,
  context: CommandContext,
): Promise<readonly Finding[]> {
  if (upgradeFrom !== undefined && upgradeTo === undefined) {
    throw new CommandFailure(2, ['--upgrade-from needs --upgrade-to: what the cluster is upgraded to']);
  }
  // First: a path that cannot be read is a wrong call, whatever is found of the router.
  const readSide = (flag: string, path: string | undefined) =>
    path === undefined ? undefined : readUpgradeSide(flag, path, context);
  const today = await readSide('--upgrade-from', upgradeFrom);
  const then = await readSide('--upgrade-to', upgradeTo);
  const own = new Set<string>(settingsOf(flags).map(({ flag }) => flag));
  const ofServe = Object.fromEntries(Object.entries(given.flags).filter(([flag]) => !own.has(flag)));
  const describesRouter = Object.keys(ofServe).length > 0 || given.issues.length > 0;
  const router =
    describesRouter || today === undefined
      ? await examineRouter({ flags: ofServe, issues: given.issues }, context)
      : undefined;
  return [
    ...(router?.findings ?? []),
    ...(then === undefined ? [] : await examineUpgrade(today, router?.table, then)),
  ];
}

/** @param stored what the router has, instead of `today` where that was not given */
async function examineUpgrade(
  today: UpgradeSide | undefined,
  stored: RoutingTable | undefined,
  then: UpgradeSide,
): Promise<readonly Finding[]> {
  const from = today?.snapshot ?? stored?.snapshot;
  if (from === undefined) {
    throw new CommandFailure(2, [
      '--upgrade-to needs to know what runs today: give --upgrade-from, or a router that has a stored snapshot or reads the cluster',
    ]);
  }
  return [...(today?.findings ?? []), ...then.findings, ...upgradeFindings(from, then.snapshot)];
}

const marks = {
  ok: { text: '[ok]', style: 'good' },
  warning: { text: '[warning]', style: 'warning' },
  failed: { text: '[failed]', style: 'bad' },
} as const satisfies Record<Finding['result'], { readonly text: string; readonly style: Style }>;

const markWidth = marks.warning.text.length;

function findingLines({ check, result, message, resources = [] }: Finding): readonly Line[] {
  const mark = marks[result];
  return [
    [mark, ' '.repeat(markWidth - mark.text.length), ` ${check}: ${message}`],
    ...resources.map((line) => [`${' '.repeat(markWidth + 3)}${line}`]),
  ];
}

function countsLine(findings: readonly Finding[]): Line {
  const { ok = [], warning = [], failed = [] } = Object.groupBy(findings, ({ result }) => result);
  const text = `${failed.length} failed, ${count(warning.length, 'warning')}, ${ok.length} ok`;
  const style = failed.length > 0 ? 'bad' : warning.length > 0 ? 'warning' : 'good';
  return [{ text, style }];
}

interface UpgradeSide {
  readonly snapshot: Snapshot;
  /** Findings on what its recording does not tell. */
  readonly findings: readonly Finding[];
}

/**
 * Reads one side of an upgrade: a version that was recorded, a cluster, a snapshot, or the folder that `sync --record` made.
 * @param flag that names `path`
 * @throws {CommandFailure} exit code 2 when nothing can be read of it
 */
async function readUpgradeSide(flag: string, path: string, context: CommandContext): Promise<UpgradeSide> {
  const found = await stat(path).catch(() => undefined);
  const [, minor] = /^v?(1\.\d+)(?:\.\d+)?$/.exec(path) ?? [];
  if (minor !== undefined && found === undefined) return recordedVersion(flag, minor);
  if (found?.isFile() === true && isKubeconfig(readInputFile(context, flag, path))) {
    return clusterOfKubeconfig(flag, path);
  }
  if (found?.isDirectory() !== true) {
    const { table } = await readSnapshotInput(context, flag, path, undefined);
    return { snapshot: table.snapshot, findings: [] };
  }
  const { snapshot, warnings } = await snapshotFromFolder(path, { alwaysReadsSchemas: true }).catch(
    (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new CommandFailure(
        2,
        [`${flag}: ${path} is no recording of a cluster (sync --record): ${reason}`],
        { cause },
      );
    },
  );
  if (snapshot === undefined) {
    throw new CommandFailure(2, [
      `${flag}: ${path} tells of no API server: ${warnings[0] ?? 'no folder of a server is in it'}`,
    ]);
  }
  return {
    snapshot,
    findings: warnings.map((message) => warning(`recording ${path}`, message)),
  };
}

function isKubeconfig(text: string): boolean {
  return /^\s*"?kind"?\s*:\s*"?Config"?\s*,?\s*$/m.test(text);
}

/** Milliseconds for reading a whole cluster, schemas included. */
const readingTimeout = 60_000;

/** @throws {CommandFailure} exit code 2 when no server of the cluster can be read */
async function clusterOfKubeconfig(flag: string, kubeconfig: string): Promise<UpgradeSide> {
  const { snapshot, warnings } = await syncOnce(
    {
      kubernetes: { kubeconfig },
      servers: [],
      targets: [],
      alwaysReadsSchemas: true,
      // The caller sits at this machine: a test cluster on this machine may be the one to read.
      peers: { allowLoopback: true },
    },
    AbortSignal.timeout(readingTimeout),
  ).catch((cause: unknown) => {
    throw new CommandFailure(
      2,
      [`${flag}: the cluster of ${kubeconfig} cannot be read: ${errorMessage(cause)}`],
      {
        cause,
      },
    );
  });
  if (snapshot === undefined) {
    throw new CommandFailure(2, [
      `${flag}: no API server of ${kubeconfig} can be read: ${warnings.join('; ')}`,
    ]);
  }
  return { snapshot, findings: warnings.map((message) => warning(`cluster of ${kubeconfig}`, message)) };
}

/** @throws {CommandFailure} exit code 2 for a version of which nothing was recorded */
async function recordedVersion(flag: string, minor: string): Promise<UpgradeSide> {
  const { recordedVersions } = await import('./recorded-versions.ts');
  const recorded = recordedVersions[minor];
  if (recorded === undefined) {
    const known = Object.keys(recordedVersions).join(', ');
    throw new CommandFailure(2, [
      `${flag}: nothing is known here of Kubernetes ${minor}, only of ${known}: give a folder made by sync --record from a server of ${minor}`,
    ]);
  }
  const compressed = new Blob([Uint8Array.fromBase64(recorded)]).stream();
  const parsed = await parseSnapshotText(
    await new Response(compressed.pipeThrough(new DecompressionStream('gzip'))).text(),
  );
  if (!parsed.ok) throw new Error(`The recording of ${minor} is damaged: ${parsed.issues[0]?.message}`);
  return { snapshot: parsed.snapshot, findings: [] };
}
