import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** A client program of the suite: it works until SIGTERM, and then prints what it did as a line of JSON. */
export interface ClientProgram {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface ClientPrograms {
  readonly found: readonly ClientProgram[];
  /** What is left out, and why. */
  readonly missing: readonly string[];
}

const folder = import.meta.dirname;

/** Finds the runtimes that clients need. @param directory for programs that have to be built */
export function findClientPrograms(directory: string): ClientPrograms {
  const found: ClientProgram[] = [
    { name: 'JavaScript', command: process.execPath, args: [join(folder, 'javascript-client.ts')] },
  ];
  const missing: string[] = [];
  const go = goClient(join(directory, 'go-client'));
  if (typeof go === 'string') missing.push(go);
  else found.push(go);
  const python = process.env['TEST_ASSET_PYTHON'] ?? 'python3';
  if (succeeds(python, ['-c', 'import kubernetes'])) {
    found.push({ name: 'Python', command: python, args: [join(folder, 'python_client.py')] });
  } else missing.push(`Python: ${python} has no package kubernetes (set TEST_ASSET_PYTHON)`);
  const helm = process.env['TEST_ASSET_HELM'] ?? 'helm';
  if (succeeds(helm, ['version'])) {
    found.push({
      name: 'Helm',
      command: process.execPath,
      args: [join(folder, 'helm-client.ts'), `--helm=${helm}`],
    });
  } else missing.push('Helm: helm is not on PATH (set TEST_ASSET_HELM)');
  const java = javaClient(join(directory, 'java-client'));
  if (typeof java === 'string') missing.push(java);
  else found.push(java);
  return { found, missing };
}

function goClient(program: string): ClientProgram | string {
  const given = process.env['TEST_ASSET_GO_CLIENT'];
  if (given !== undefined) return { name: 'Go', command: given, args: [] };
  const { status, error, stderr } = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: join(folder, 'go'),
    encoding: 'utf8',
  });
  if (status === 0) return { name: 'Go', command: program, args: [] };
  return `Go: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
}

/** Maven, where it is, brings what the program needs; the program is run from its source. */
function javaClient(libraries: string): ClientProgram | string {
  const given = process.env['TEST_ASSET_JAVA_CLASSPATH'];
  if (!succeeds('java', ['-version'])) return 'Java: java is not on PATH';
  if (given === undefined) {
    const { status, error, stdout } = spawnSync(
      'mvn',
      ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${libraries}`],
      { cwd: join(folder, 'java'), encoding: 'utf8' },
    );
    if (status !== 0)
      return `Java: no io.kubernetes:client-java (${error?.message ?? stdout.trim().split('\n')[0]}; set TEST_ASSET_JAVA_CLASSPATH)`;
  }
  const classpath = given ?? join(libraries, '*');
  return { name: 'Java', command: 'java', args: ['-cp', classpath, join(folder, 'java', 'JavaClient.java')] };
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
