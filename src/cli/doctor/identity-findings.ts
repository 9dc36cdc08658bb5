import { parseCertificates, subjectOf } from '../../node/callers/pem-files.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { messageOf } from '../terminal/command-context.ts';
import { type AskAsRouter, canAssert, doctorUser } from './ask-as-router.ts';
import type { ExaminedServer, Finding } from './finding.ts';
import { askWhoCalls, type SeenCaller } from './seen-caller.ts';

/** What of a router says how it speaks for callers. */
type IdentityConfig = Pick<ServeConfig, 'destinationIdentity' | 'proxyClient'>;

/** Asks each server whom it takes for the caller when this router speaks for `doctorUser`. */
export async function identityFindings(
  servers: readonly ExaminedServer[],
  config: IdentityConfig,
  ask: AskAsRouter,
): Promise<readonly Finding[]> {
  const asserted = servers.filter((server) => canAssert(config, server));
  return Promise.all(
    asserted.map(async (server): Promise<Finding> => {
      const check = `identity at ${server.id}`;
      try {
        const seen = await askWhoCalls((question) => ask(server, question));
        return { check, ...judge(seen, server, config) };
      } catch (error) {
        return { check, result: 'failed', message: `${server.origin} cannot be asked: ${messageOf(error)}` };
      }
    }),
  );
}

/** What is so and what to do about it. */
function judge(
  seen: SeenCaller,
  { kind, origin }: ExaminedServer,
  config: IdentityConfig,
): Omit<Finding, 'check'> {
  const mode = config.destinationIdentity[kind];
  const advice = mode === 'front-proxy' ? frontProxyAdvice(config) : tokenAdvice[mode];
  switch (seen.kind) {
    case 'refused':
      return {
        result: 'failed',
        message: `${origin} refuses what this router says of callers (401): ${advice}`,
      };
    case 'unknown':
      return {
        result: 'warning',
        message: `${origin} returned ${seen.status} and does not say for whom it takes the caller: whether it believes this router cannot be seen`,
      };
    case 'user':
      break;
  }
  // Issuers of tokens are configured with a prefix of their users and groups.
  const isSame = (name: string, expected: string): boolean =>
    mode === 'oidc-token' ? name.endsWith(expected) : name === expected;
  if (!isSame(seen.name, doctorUser.name)) {
    const message = `${origin} takes every request of this router for one of "${seen.name}" and overlooks whom it speaks for: ${advice}`;
    return { result: 'failed', message };
  }
  const { groups, extra } = seen;
  const lacksGroups = doctorUser.groups.some(
    (expected) => groups?.some((group) => isSame(group, expected)) === false,
  );
  if (lacksGroups) {
    const cure = mode === 'oidc-token' ? advice : 'set --requestheader-group-headers=X-Remote-Group there';
    const message = `${origin} believes who calls, and does not read the groups: ${cure}`;
    return { result: 'failed', message };
  }
  const lacksExtra = [...doctorUser.extra.keys()].some(
    (key) => extra !== undefined && extra[key] === undefined,
  );
  // What becomes of extra values out of a token is for the issuer's configuration to say.
  if (lacksExtra && mode !== 'oidc-token') {
    const message = `${origin} believes who calls, and does not read extra values: set --requestheader-extra-headers-prefix=X-Remote-Extra- there`;
    return { result: 'warning', message };
  }
  return { result: 'ok', message: `${origin} believes this router about who calls` };
}

const tokenAdvice = {
  assertion:
    'pin the public key of this router in its --assertion-keys, and compare --server-id there with the snapshot',
  'oidc-token':
    'compare its issuer, audience and claim mappings with --oidc-issuer-url and --oidc-audience here',
} as const;

function frontProxyAdvice({ proxyClient }: IdentityConfig): string {
  if (proxyClient === undefined) return 'set --proxy-client-cert-file here';
  const { path, pem } = proxyClient.certificate;
  const [own] = parseCertificates({ pem, source: path });
  if (own === undefined) return `${path} holds no certificate`;
  const authority = own.issuer.replaceAll('\n', ', ');
  return `there, --requestheader-client-ca-file must hold the CA that has signed ${path} (${authority}), --requestheader-allowed-names its name (${subjectOf(own)}), and --requestheader-username-headers X-Remote-User`;
}
