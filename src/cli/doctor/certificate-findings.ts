import type { X509Certificate } from 'node:crypto';
import { parseCertificates, subjectOf } from '../../node/callers/certificate-pem.ts';
import type { PemFile, ServeConfig } from '../../node/configuration/serve-config.ts';
import { expiryOf } from '../../node/reload/expiry.ts';
import type { Finding } from './finding.ts';

/**
 * Looks at every certificate that the configuration names. That each can be read and fits its key was checked when
 * the configuration was read. Pure.
 * @param now milliseconds since the epoch
 */
export function certificateFindings(config: ServeConfig, now: number): readonly Finding[] {
  const { serving, namedServing, proxyClient, peerCa, local, clientCa, requestHeader } = config;
  const files: readonly (readonly [string, PemFile | undefined])[] = [
    ['serving certificate', serving.certificate],
    ...namedServing.map((pair) => ['serving certificate', pair.certificate] as const),
    ['front-proxy certificate', proxyClient?.certificate],
    ['CA of peers', peerCa],
    ['CA of the local server', local?.ca],
    ['CA of clients', clientCa],
    ['CA of front proxies', requestHeader?.clientCa],
  ];
  const validity = files.flatMap(([check, file]) => (file === undefined ? [] : validityOf(check, file, now)));
  return [...validity, ...ownFrontProxy(config)];
}

function validityOf(check: string, { path, pem }: PemFile, now: number): readonly Finding[] {
  return parseCertificates({ pem, source: path }).map((certificate) => {
    const subject = subjectOf(certificate);
    const notBefore = certificate.validFromDate.getTime();
    const notAfter = certificate.validToDate.getTime();
    const until = new Date(notAfter).toISOString();
    if (notBefore > now) {
      const message = `${subject} in ${path} is not valid before ${new Date(notBefore).toISOString()}: check the clock`;
      return { check, result: 'failed', message };
    }
    const expiry = expiryOf({ notBefore, notAfter }, now);
    if (expiry === 'expired') {
      return { check, result: 'failed', message: `${subject} in ${path} expired at ${until}: renew it` };
    }
    return expiry === undefined
      ? { check, result: 'ok', message: `${subject}, until ${until}` }
      : { check, result: 'warning', message: `${subject} in ${path} expires at ${until}: renew it` };
  });
}

/**
 * Routers before each other's servers take each other for front proxies by one CA and one list of names. A pair
 * that this router would not take itself is most likely one that its peers do not take either.
 */
function ownFrontProxy({ proxyClient, requestHeader }: ServeConfig): readonly Finding[] {
  if (proxyClient === undefined || requestHeader === undefined) return [];
  const check = 'front-proxy identity';
  const { path, pem } = proxyClient.certificate;
  const chain = parseCertificates({ pem, source: path });
  const [own] = chain;
  if (own === undefined) return [];
  const authorities = parseCertificates({
    pem: requestHeader.clientCa.pem,
    source: requestHeader.clientCa.path,
  });
  if (![...authorities, ...chain.slice(1)].some((authority) => isIssuer(authority, own))) {
    const message = `${subjectOf(own)} in ${path} is not of a CA in ${requestHeader.clientCa.path}: peers with the same settings do not take this router for a front proxy`;
    return [{ check, result: 'warning', message }];
  }
  const name = /^CN=(.*)$/m.exec(own.subject)?.[1] ?? '';
  const { allowedNames } = requestHeader;
  if (allowedNames !== 'any' && !allowedNames.includes(name)) {
    const message = `"${name}" of ${path} is not in --requestheader-allowed-names: peers with the same settings do not believe this router`;
    return [{ check, result: 'warning', message }];
  }
  return [
    { check, result: 'ok', message: `${subjectOf(own)} is a front proxy by this router's own settings` },
  ];
}

function isIssuer(authority: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}
