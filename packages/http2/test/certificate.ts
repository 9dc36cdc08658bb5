// First: the dependency container inside @peculiar/x509 refuses to load without it.
import 'reflect-metadata';
import { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
const certificate = await X509CertificateGenerator.createSelfSigned({
  name: 'CN=localhost',
  keys,
  signingAlgorithm: algorithm,
  extensions: [
    new SubjectAlternativeNameExtension([
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
    ]),
  ],
});

/** The certificate and key that every server of the package's tests shows, and every client trusts. */
export const serving = {
  cert: certificate.toString('pem'),
  key: PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
} as const;

/** For `connect` of `node:tls` and of `node:http2`. */
export const trusting = { host: '127.0.0.1', servername: 'localhost', ca: serving.cert } as const;
