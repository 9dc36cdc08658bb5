import { type ServeFlagValues, serveFlags } from '../flags/serve-flags.ts';

/** In front of one API server (sidecar), or in front of all (gateway). */
interface DeploymentForm {
  readonly isGateway: boolean;
  /** ID of the local server; `undefined` in the gateway form, and after an error. */
  readonly serverId: string | undefined;
}

/**
 * Reads which form the router has. The gateway form has to be asked for: a forgotten --server-id must not make one.
 */
export function readDeploymentForm(flags: ServeFlagValues): DeploymentForm {
  const isGateway = flags.value('gateway') === true;
  if (isGateway) rejectSidecarFlags(flags);
  return {
    isGateway,
    serverId: isGateway
      ? undefined
      : flags.required('server-id', 'the ID of the local API server, as the snapshot has it'),
  };
}

function rejectSidecarFlags(flags: ServeFlagValues): void {
  for (const { name, isOfLocalServer } of serveFlags) {
    if (isOfLocalServer !== true || !flags.isGiven(name)) continue;
    flags.issue(name, `--${name} and --gateway exclude each other: no API server is local to a gateway`);
  }
  if (flags.isGiven('assertion-keys')) {
    flags.issue(
      'assertion-keys',
      '--assertion-keys and --gateway exclude each other: an assertion is addressed to an API server ID, which a gateway does not have',
    );
  }
}
