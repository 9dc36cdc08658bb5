import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { askOverHttps, type HttpsResponse } from '../../node/destinations/https-client.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
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

/** Milliseconds for one response. */
const responseTimeout = 2_000;

/** Of the port of the router that this machine runs, or will run. */
function ownOrigin({ bindAddress, securePort }: ServeConfig): string {
  const address = ['0.0.0.0', '::', ''].includes(bindAddress) ? '127.0.0.1' : bindAddress;
  return `https://${joinHostPort(address, securePort)}`;
}

/** Asks what listens there. @throws when it does not respond, or does not present the router's own certificate */
function askOwnPort(config: ServeConfig, path: string): Promise<HttpsResponse> {
  const { pem } = config.serving.certificate;
  return askOverHttps({
    origin: ownOrigin(config),
    path,
    serverName: nameIn(pem),
    // By whichever CA: the server has to present the router's own certificate.
    certificateAuthorities: pem,
    allowPartialTrustChain: true,
    clientCertificate: undefined,
    headers: [],
    responseTimeout,
    longestResponse: 1024 * 1024,
  });
}

/** A name that the certificate is for; `undefined`: the address that is asked has to stand in it. */
function nameIn(pem: string): string | undefined {
  const [, name] = /DNS:([^,\s]+)/.exec(new X509Certificate(pem).subjectAltName ?? '') ?? [];
  const asked = name?.replace(/^\*\./, 'router.');
  return asked === undefined || isIP(asked) !== 0 ? undefined : asked;
}
