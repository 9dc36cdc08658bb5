/**
 * Treatments of a block of commands, told by the word behind its language (```` ```sh run ````), which a rendered page
 * does not show.
 */
const runDeclarations = {
  run: 'Run as it stands, in a directory that has what a checkout has (bin, deploy, examples, scripts, test) and can be written to.',
  demo: 'Run against the demo, in the directory that it was started in.',
} as const;

/** Why a block is not run. */
const notRunDeclarations = {
  cluster: 'Needs a Kubernetes cluster, or files and programs that only its operator has.',
  long: 'Runs for minutes, or until somebody ends it.',
  account: 'Needs an account at a platform.',
} as const;

export type RunDeclaration = keyof typeof runDeclarations;

/** Every word that may stand there. */
export const declarations: ReadonlySet<string> = new Set([
  ...Object.keys(runDeclarations),
  ...Object.keys(notRunDeclarations),
]);
