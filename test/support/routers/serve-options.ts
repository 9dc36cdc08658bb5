import assert from 'node:assert/strict';
import { createCertificateAuthority } from '../../../demo/certificate-authority.ts';
import { type RawServeFlags, validateServeOptions } from '../../../demo/checked-flags.ts';
import type { ServeOptionsResult } from '../../../src/cli/serve/router-config.ts';
import type { RouterFlag } from '../../../src/node/configuration/router-settings.ts';
import type { ServeConfig } from '../../../src/node/configuration/serve-config.ts';
import { generateSigningKey } from '../../../src/snapshot/signing/seal.ts';

/** Flags to change; `undefined` leaves one out. */
export type FlagChanges = Partial<Record<RouterFlag, readonly string[] | undefined>>;

/** Options with which nothing is wrong. The files are those of `serveFiles`. */
export const completeServeOptions: RawServeFlags = {
  'server-id': ['cp-a'],
  'local-server': ['https://127.0.0.1:6444'],
  'tls-cert-file': ['serving.crt'],
  'tls-private-key-file': ['serving.key'],
  'client-ca-file': ['ca.crt'],
  'peer-ca-file': ['ca.crt'],
  'proxy-client-cert-file': ['front-proxy-client.crt'],
  'proxy-client-key-file': ['front-proxy-client.key'],
  'requestheader-client-ca-file': ['front-proxy-ca.crt'],
  'requestheader-allowed-names': ['front-proxy-client'],
  'snapshot-keys': ['snapshot-keys.json'],
  'snapshot-file': ['snapshot'],
};

/** Certificates and keys, good ones and bad ones, by file name. */
export async function serveFiles(): Promise<Map<string, string>> {
  const clusterCa = await createCertificateAuthority('cluster');
  const frontProxyCa = await createCertificateAuthority('front-proxy');
  const serving = await clusterCa.issue({ commonName: 'router', usage: 'server' });
  const frontProxy = await frontProxyCa.issue({ commonName: 'front-proxy-client', usage: 'client' });
  const { publicJwk, privateJwk } = await generateSigningKey('EdDSA');
  return new Map([
    ['ca.crt', clusterCa.certificate],
    ['front-proxy-ca.crt', frontProxyCa.certificate],
    ['both-cas.crt', frontProxyCa.certificate + clusterCa.certificate],
    ['serving.crt', serving.certificate + clusterCa.certificate],
    ['serving.key', serving.privateKey],
    ['front-proxy-client.crt', frontProxy.certificate],
    ['front-proxy-client.key', frontProxy.privateKey],
    ['empty.crt', 'no certificate in here\n'],
    ['broken.crt', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
    ['secret.key', 'hunter2'],
    ['snapshot-keys.json', JSON.stringify({ keys: [publicJwk] })],
    ['private-keys.json', JSON.stringify({ keys: [privateJwk] })],
  ]);
}

/** Validates the complete options with some flags changed. */
export class ServeOptionsCheck {
  readonly files: ReadonlyMap<string, string>;

  constructor(files: ReadonlyMap<string, string>) {
    this.files = files;
  }

  validate(changes: FlagChanges = {}, now: number = Date.now()): Promise<ServeOptionsResult> {
    const given = Object.entries({ ...completeServeOptions, ...changes });
    return validateServeOptions(Object.fromEntries(given.filter(([, values]) => values !== undefined)), {
      network: {
        addresses: [{ interface: 'eth0', address: '10.0.0.7', internal: false }],
        defaultRouteInterfaces: ['eth0'],
      },
      now,
      readFile: (path) => {
        const text = this.files.get(path);
        if (text === undefined) throw new Error('ENOENT: no such file or directory');
        return text;
      },
    });
  }

  /** The flags invalid, each named in its message. */
  async issues(changes: FlagChanges): Promise<string[]> {
    const result = await this.validate(changes);
    if (result.ok) return [];
    for (const { flag, message } of result.issues) {
      assert.ok(message.includes(flag), `"${message}" names ${flag}`);
    }
    return result.issues.map(({ flag }) => flag);
  }

  async warnings(changes: FlagChanges): Promise<string[]> {
    const result = await this.validate(changes);
    assert.ok(result.ok, JSON.stringify(result));
    return result.warnings.map(({ message }) => message);
  }

  async config(changes: FlagChanges = {}): Promise<ServeConfig> {
    const result = await this.validate(changes);
    assert.ok(result.ok, JSON.stringify(result));
    return result.config;
  }
}
